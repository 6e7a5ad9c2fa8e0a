//! `stateMachines`: where definitions are, and how they run. What is in them is not looked at.

use everstep_asl::WorkflowType;
use everstep_asl::document::{Content, Node};
use serde_json::Value;

use crate::document;
use crate::model::{Definition, DefinitionOrigin, StateMachine};
use crate::origin::{Given, Origin};
use crate::reader::Field;
use crate::target::Names;

pub(crate) fn state_machine(field: &Field<'_>, names: &Names) -> Option<StateMachine> {
    let fields = field.fields(format!("state machine `{}`", field.name))?;
    let definition = fields.require("definition").and_then(|field| definition(&field));
    let types = [("STANDARD", WorkflowType::Standard), ("EXPRESS", WorkflowType::Express)];
    let workflow_type =
        fields.get("type").map_or(Some(WorkflowType::Standard), |field| field.word(&types));
    let dialects = [("spec", "spec"), ("aws", "aws")];
    let dialect = fields.get("dialect").map(|field| field.word(&dialects));
    let on_failure = fields.get("onFailure").and_then(|field| {
        let origin = Origin::Own(field.line());
        names.target(&field).map(|value| Given { value, origin })
    });
    fields.finish(|name| (name == "tracing").then(|| "tracing is not supported yet".to_owned()));
    Some(StateMachine {
        name: field.name.clone(),
        line: field.line(),
        definition: definition?,
        workflow_type: workflow_type?,
        dialect: dialect.flatten().map(str::to_owned),
        on_failure,
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
