//! What names mean in a template: parameters, pseudo parameters, mappings, conditions and resources.

use std::cell::RefCell;
use std::collections::HashMap;

use everstep_source::document::{Content, Member, Node};
use everstep_source::{Diagnostic, Place, Severity, Span, nearest};

use super::build::{array, field, string, text};
use super::globals;
use super::resource::Resource;
use crate::reader::File;
use crate::rule::Rule;

/// Where a template is taken to be deployed, unless the server says otherwise.
const REGION: &str = "us-east-1";
const ACCOUNT: &str = "123456789012";

pub(super) struct Scope<'n> {
    pub(super) file: &'n File<'n>,
    parameters: HashMap<&'n str, &'n Node>,
    mappings: Option<&'n Node>,
    conditions: HashMap<&'n str, &'n Member>,
    resources: Vec<Resource<'n>>,
    globals: Option<&'n Node>,
    /// Names that are being evaluated, to find cycles.
    pub(super) path: RefCell<Vec<String>>,
    /// What has been reported: a problem that many values share is one.
    reported: RefCell<Vec<String>>,
}

impl<'n> Scope<'n> {
    pub(super) fn read(file: &'n File<'n>, root: &'n Node) -> Self {
        let section = |name: &str| field(root, name).map(|member| &member.value);
        let members = |name: &str| section(name).and_then(Node::as_object).unwrap_or_default();
        let mut scope = Self {
            file,
            parameters: HashMap::new(),
            mappings: section("Mappings"),
            conditions: HashMap::new(),
            resources: Vec::new(),
            globals: section("Globals"),
            path: RefCell::default(),
            reported: RefCell::default(),
        };
        for member in members("Parameters") {
            scope.parameters.insert(&member.name, &member.value);
        }
        for member in members("Conditions") {
            scope.conditions.insert(&member.name, member);
        }
        for member in members("Resources") {
            scope.resources.push(scope.resource(member));
        }
        scope.warn_of_unknown_parameters();
        let left_out: Vec<bool> =
            members("Resources").iter().map(|m| scope.is_left_out(m)).collect();
        let mut left_out = left_out.into_iter();
        scope.resources.retain(|_| !left_out.next().unwrap_or(false));
        scope
    }

    fn resource(&self, member: &'n Member) -> Resource<'n> {
        let kind = field(&member.value, "Type").and_then(|kind| kind.value.as_str());
        if kind.is_none() {
            let message = format!("resource `{}` has no `Type`", member.name);
            self.error(Rule::RequiredField, member.name_span, message, None);
        }
        Resource {
            id: &member.name,
            id_span: member.name_span,
            kind: kind.unwrap_or_default(),
            properties: field(&member.value, "Properties").map(|member| &member.value),
            metadata: field(&member.value, "Metadata").map(|member| &member.value),
        }
    }

    /// Whether the condition of a resource does not hold.
    fn is_left_out(&self, member: &Member) -> bool {
        let condition = field(&member.value, "Condition");
        let name = condition.and_then(|condition| condition.value.as_str());
        name.is_some_and(|name| !self.condition(name, member.name_span))
    }

    pub(super) fn resources(&self) -> &[Resource<'n>] {
        &self.resources
    }

    pub(super) fn find(&self, id: &str) -> Option<&Resource<'n>> {
        self.resources.iter().find(|resource| resource.id == id)
    }

    pub(super) fn mapping(&self, path: [&str; 3]) -> Option<&'n Node> {
        path.iter()
            .try_fold(self.mappings?, |node, name| field(node, name).map(|member| &member.value))
    }

    pub(super) fn condition_body(&self, name: &str) -> Option<&'n Node> {
        self.conditions.get(name).map(|member| &member.value)
    }

    /// A property of a resource as it is written, with those of `Globals` of SAM.
    pub(super) fn property(&self, resource: &Resource<'n>, name: &str) -> Option<Node> {
        let own = resource.property(name);
        let section = resource.kind.strip_prefix("AWS::Serverless::");
        let global = section
            .and_then(|section| field(self.globals?, section))
            .and_then(|section| field(&section.value, name));
        globals::merged(global.map(|member| &member.value), own)
    }

    pub(super) fn region(&self) -> &str {
        self.file.cx.parameters.region.as_deref().unwrap_or(REGION)
    }

    pub(super) fn account(&self) -> &str {
        self.file.cx.parameters.account.as_deref().unwrap_or(ACCOUNT)
    }

    /// A value that was given for this name on the command line.
    pub(super) fn given(&self, name: &str) -> Option<&str> {
        let values = &self.file.cx.parameters.values;
        values.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// `AWS::Region` and its like.
    pub(super) fn pseudo(&self, name: &str) -> Option<String> {
        let (region, account) = (self.region(), self.account());
        Some(match name {
            "AWS::Region" => region.to_owned(),
            "AWS::AccountId" => account.to_owned(),
            "AWS::Partition" => "aws".to_owned(),
            "AWS::URLSuffix" => "amazonaws.com".to_owned(),
            "AWS::StackName" => "everstep".to_owned(),
            "AWS::StackId" => {
                format!("arn:aws:cloudformation:{region}:{account}:stack/everstep/everstep")
            }
            _ => return None,
        })
    }

    /// The value of a parameter, if there is one of the name.
    pub(super) fn parameter(&self, name: &str, span: Span) -> Option<Node> {
        let declared = *self.parameters.get(name)?;
        let kind = field(declared, "Type").and_then(|kind| kind.value.as_str()).unwrap_or("String");
        let default = field(declared, "Default").and_then(|member| text(&member.value));
        let value = self.given(name).map(str::to_owned).or(default).unwrap_or_else(|| {
            let message = format!("the parameter `{name}` has no value: its name is used instead");
            let hint = format!("set it: --parameter {name}=VALUE");
            self.warn(Rule::MissingParameter, span, message, Some(hint));
            name.to_owned()
        });
        let is_list = kind == "CommaDelimitedList" || kind.starts_with("List<");
        Some(match is_list {
            true => array(span, value.split(',').map(|one| string(span, one.trim())).collect()),
            false => string(span, value),
        })
    }

    /// A parameter on the command line that the template does not have is a mistake.
    fn warn_of_unknown_parameters(&self) {
        // Only the entry: parameters are for one template.
        for (name, _) in &self.file.cx.parameters.values {
            if !self.parameters.contains_key(name.as_str()) && !self.is_imported(name) {
                let known = self.parameters.keys().copied();
                let hint = nearest(name, known).map(|near| format!("did you mean `{near}`?"));
                let message = format!("the template has no parameter `{name}`");
                self.warn(Rule::IgnoredSetting, Span::default(), message, hint);
            }
        }
    }

    fn is_imported(&self, name: &str) -> bool {
        self.file.source.text().contains(name)
    }

    /// What else could have been meant.
    pub(super) fn nearest(&self, name: &str) -> Option<String> {
        let parameters = self.parameters.keys().copied();
        let names = parameters.chain(self.resources.iter().map(|resource| resource.id));
        nearest(name, names).map(|near| format!("did you mean `{near}`?"))
    }

    pub(super) fn error(
        &self,
        rule: Rule,
        span: Span,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.report(rule, span, message.into(), hint, None);
    }

    pub(super) fn warn(
        &self,
        rule: Rule,
        span: Span,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.report(rule, span, message.into(), hint, Some(Severity::Warning));
    }

    fn report(
        &self,
        rule: Rule,
        span: Span,
        message: String,
        hint: Option<String>,
        severity: Option<Severity>,
    ) {
        if self.reported.borrow().contains(&message) {
            return;
        }
        self.reported.borrow_mut().push(message.clone());
        let found = Diagnostic::new(rule, span, Place::root(), message).hint_if(hint);
        let found = match severity {
            Some(severity) => found.severity(severity),
            None => found,
        };
        self.file.report(found.in_file(self.file.index));
    }
}

/// `AWS::NoValue` removes what it stands for.
pub(super) fn is_no_value(node: &Node) -> bool {
    let Content::Object(members) = &node.content else { return false };
    members.len() == 1
        && members[0].name == "Ref"
        && members[0].value.as_str() == Some("AWS::NoValue")
}
