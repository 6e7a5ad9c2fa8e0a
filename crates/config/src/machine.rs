//! `stateMachines`: where definitions are, and how they run. What is in them is not looked at.

use everstep_asl::{Format, WorkflowType};
use everstep_source::document::{Content, Member, Node};
use serde_json::Value;

use crate::document;
use crate::model::{Definition, DefinitionOrigin, StateMachine, Target};
use crate::reader::{Field, Setting as _};
use crate::rule::Rule;
use crate::target::Names;
use crate::template::fill;

pub(crate) fn state_machine(field: &Field<'_>, names: &Names) -> Option<StateMachine> {
    let fields = field.settings(format!("state machine `{}`", field.name))?;
    let substitutions = fields.get("definitionSubstitutions");
    let substitutions = substitutions.map_or(Some(Vec::new()), |field| substitutions_of(&field));
    let definition = fields
        .require("definition")
        .and_then(|field| definition(&field, &substitutions.unwrap_or_default()));
    let types = [("STANDARD", WorkflowType::Standard), ("EXPRESS", WorkflowType::Express)];
    let workflow_type =
        fields.get("type").map_or(Some(WorkflowType::Standard), |field| field.word(&types));
    let dialects = [("spec", "spec"), ("aws", "aws")];
    let dialect = fields.get("dialect").map(|field| field.word(&dialects));
    let name = &*field.name;
    let on_failure = fields.get("onFailure").and_then(|field| {
        let express = workflow_type == Some(WorkflowType::Express);
        on_failure(&field, name, express, names)
    });
    fields.finish(|name| match name {
        "tracing" => Some("tracing is not supported yet".to_owned()),
        _ => None,
    });
    Some(StateMachine {
        name: field.name.clone().into_owned(),
        line: field.line(),
        definition: definition?,
        workflow_type: workflow_type?,
        dialect: dialect.flatten().map(str::to_owned),
        on_failure,
    })
}

/// Nothing of an EXPRESS execution is stored, so its failure could be lost before it is reported.
fn on_failure(field: &Field<'_>, machine: &str, express: bool, names: &Names) -> Option<Target> {
    if express {
        let found = field.at_name(Rule::NotSupported, "an EXPRESS workflow has no `onFailure`");
        let hint = "nothing of its executions is stored: make it STANDARD, or catch failures in its definition";
        field.cx.report(found.hint(hint));
        return None;
    }
    let target = names.target(field)?;
    if target == Target::StateMachine(machine.to_owned()) {
        let message = format!("`{machine}` would be notified of its own failures, without end");
        field.cx.report(field.report(Rule::InvalidTarget, message));
        return None;
    }
    Some(target)
}

/// A name in a definition, and the text that stands for it.
type Substitution = (String, String);

/// `definitionSubstitutions`: what `${NAME}` stands for in the definition, as in CloudFormation.
fn substitutions_of(field: &Field<'_>) -> Option<Vec<Substitution>> {
    let fields = field.settings("`definitionSubstitutions`")?;
    let values = fields.each().map(|field| {
        let value = match &field.node.content {
            Content::Number(_) | Content::Boolean(_) => field.node.to_value().to_string(),
            _ => field.string()?.to_owned(),
        };
        Some((field.name.into_owned(), value))
    });
    values.collect()
}

fn substituted(text: &str, substitutions: &[Substitution]) -> String {
    if substitutions.is_empty() {
        return text.to_owned();
    }
    fill(text, |name| {
        substitutions.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    })
}

/// The same in the texts of a document.
fn substituted_node(node: &Node, substitutions: &[Substitution]) -> Node {
    let content = match &node.content {
        Content::String(text) => Content::String(substituted(text, substitutions)),
        Content::Array(elements) => {
            let each = elements.iter().map(|element| substituted_node(element, substitutions));
            Content::Array(each.collect())
        }
        Content::Object(members) => {
            let each = members.iter().map(|member| Member {
                name: substituted(&member.name, substitutions),
                value: substituted_node(&member.value, substitutions),
                ..*member
            });
            Content::Object(each.collect())
        }
        other => other.clone(),
    };
    Node { span: node.span, content }
}

/// A path, the definition itself as fields, or its text.
fn definition(field: &Field<'_>, substitutions: &[Substitution]) -> Option<Definition> {
    match &field.node.content {
        Content::Object(_) => {
            let node = Box::new(substituted_node(field.node, substitutions));
            let mut text = String::new();
            write(&node, &mut text);
            Some(Definition {
                text,
                origin: DefinitionOrigin::Fields { file: field.cx.index, node },
            })
        }
        // Variables are not for definitions: what looks like one is left to who reads it.
        Content::String(text) if text.trim_start().starts_with('{') => {
            let text = substituted(text, substitutions);
            Some(Definition { text, origin: DefinitionOrigin::Text(field.line()) })
        }
        Content::String(_) => {
            let path = field.path()?;
            let text = document::text(field.cx.cx, &path, Some(field))?;
            let text = substituted(&text, substitutions);
            Some(Definition { text, origin: DefinitionOrigin::File(path) })
        }
        _ => {
            field.cx.report(field.wrong_type("a path or the definition itself"));
            None
        }
    }
}

impl Definition {
    /// As JSON, whatever it was written in; nothing if it cannot be read.
    #[must_use]
    pub fn json(&self) -> Option<String> {
        let name = match &self.origin {
            DefinitionOrigin::File(path) => path.display().to_string(),
            _ => String::new(),
        };
        match Format::of(&name, &self.text) {
            Format::Json => Some(self.text.clone()),
            format => {
                let mut text = String::new();
                write(&everstep_source::document::read(&self.text, format).ok()?, &mut text);
                Some(text)
            }
        }
    }
}

/// As JSON, repeated fields included: they are for the definition's own reader to report.
fn write(node: &Node, text: &mut String) {
    match &node.content {
        Content::Object(members) => {
            text.push('{');
            for (index, member) in members.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                text.push_str(&Value::from(member.name.as_str()).to_string());
                text.push(':');
                write(&member.value, text);
            }
            text.push('}');
        }
        Content::Array(elements) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index > 0 { "," } else { "" });
                write(element, text);
            }
            text.push(']');
        }
        _ => text.push_str(&node.to_value().to_string()),
    }
}
