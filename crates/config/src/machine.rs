//! `stateMachines`: where definitions are, and how they run. What is in them is not looked at.

use everstep_asl::document::{Content, Node};
use everstep_asl::{Format, WorkflowType};
use serde_json::Value;

use crate::document;
use crate::model::{Definition, DefinitionOrigin, StateMachine};
use crate::reader::Field;

pub(crate) fn state_machine(field: &Field<'_>) -> Option<StateMachine> {
    let fields = field.fields(format!("state machine `{}`", field.name))?;
    let definition = fields.require("definition").and_then(|field| definition(&field));
    let types = [("STANDARD", WorkflowType::Standard), ("EXPRESS", WorkflowType::Express)];
    let workflow_type =
        fields.get("type").map_or(Some(WorkflowType::Standard), |field| field.word(&types));
    let dialects = [("spec", "spec"), ("aws", "aws")];
    let dialect = fields.get("dialect").map(|field| field.word(&dialects));
    fields.finish(|name| match name {
        "tracing" => Some("tracing is not supported yet".to_owned()),
        "onFailure" => Some(
            "onFailure of a state machine is not supported yet: catch the failure in its definition".to_owned(),
        ),
        _ => None,
    });
    Some(StateMachine {
        name: field.name.clone(),
        line: field.line(),
        definition: definition?,
        workflow_type: workflow_type?,
        dialect: dialect.flatten().map(str::to_owned),
    })
}

/// A path, the definition itself as fields, or its text.
fn definition(field: &Field<'_>) -> Option<Definition> {
    match &field.node.content {
        Content::Object(_) => {
            let mut text = String::new();
            write(field.node, &mut text);
            let node = Box::new(field.node.clone());
            Some(Definition {
                text,
                origin: DefinitionOrigin::Fields { file: field.file.index, node },
            })
        }
        // Variables are not for definitions: what looks like one is left to who reads it.
        Content::String(text) if text.trim_start().starts_with('{') => {
            Some(Definition { text: text.clone(), origin: DefinitionOrigin::Text(field.line()) })
        }
        Content::String(_) => {
            let path = field.path()?;
            let text = document::text(field.cx, &path, Some(field))?;
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
                write(&everstep_asl::document::read(&self.text, format).ok()?, &mut text);
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
