//! CloudFormation and SAM templates, read as configurations.
//!
//! A template is rewritten as the document that an `everstep.yaml` with the same meaning would be: parameters,
//! conditions, mappings and intrinsic functions are evaluated, and resources become functions, state machines and
//! queues. Every value keeps its place in the template, so the usual readers report problems there. What a template
//! has and this server has not is reported once for each kind.

mod attributes;
mod build;
mod condition;
mod evaluate;
mod function;
mod globals;
mod machine;
mod queue;
mod resource;
mod scope;
mod sub;
mod unavailable;

use everstep_source::document::Node;

use crate::reader::File;
use build::object;
use resource::Resource;
use scope::Scope;
pub(crate) use sub::fill;
use unavailable::Unavailable;

/// The values of parameters and exports that a template does not have itself.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// `--parameter NAME=VALUE`: parameters of the template, or exports that it imports.
    pub values: Vec<(String, String)>,
    pub region: Option<String>,
    pub account: Option<String>,
}

/// Whether a document is a template, not a configuration.
pub(crate) fn is_template(root: &Node) -> bool {
    let Some(members) = root.as_object() else { return false };
    let has = |name: &str| members.iter().any(|member| member.name == name);
    has("AWSTemplateFormatVersion") || has("Resources")
}

/// Whether a text that cannot be read is meant as a template.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.lines().any(|line| {
        line.starts_with("Resources:")
            || line.trim_start_matches(['{', ' ', '"']).starts_with("AWSTemplateFormatVersion")
    })
}

/// The configuration that a template amounts to.
pub(crate) fn translate(file: &File<'_>, root: &Node) -> Node {
    let scope = Scope::read(file, root);
    let mut unavailable = Unavailable::default();
    let mut sections = Sections::default();
    for resource in scope.resources() {
        sections.add(&scope, resource, &mut unavailable);
    }
    unavailable.report(file);
    sections.document(root)
}

/// What resources have become, by the sections of a configuration.
#[derive(Default)]
struct Sections {
    functions: Vec<everstep_source::document::Member>,
    machines: Vec<everstep_source::document::Member>,
    queues: Vec<everstep_source::document::Member>,
}

impl Sections {
    fn add(&mut self, scope: &Scope<'_>, resource: &Resource<'_>, unavailable: &mut Unavailable) {
        match resource.kind {
            "AWS::Serverless::Function" | "AWS::Lambda::Function" => {
                self.functions.extend(function::translate(scope, resource, unavailable));
            }
            "AWS::Serverless::StateMachine" | "AWS::StepFunctions::StateMachine" => {
                self.machines.extend(machine::translate(scope, resource, unavailable));
            }
            "AWS::SQS::Queue" => self.queues.push(queue::translate(scope, resource)),
            _ => unavailable.add(resource),
        }
    }

    fn document(self, root: &Node) -> Node {
        let sections = [
            ("functions", self.functions),
            ("stateMachines", self.machines),
            ("queues", self.queues),
        ];
        let filled = sections.into_iter().filter(|(_, members)| !members.is_empty());
        let members = filled.map(|(name, members)| {
            let span = members[0].name_span;
            build::member(name, span, object(span, members))
        });
        object(root.span, members.collect())
    }
}
