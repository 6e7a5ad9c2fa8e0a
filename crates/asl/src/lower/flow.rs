//! The fields that shape input and output, and `Assign`.

use super::expression::{
    Available, jsonata_template_with, optional_path, path_template, result_path,
};
use super::reader::{Field, Fields};
use super::state::Reading;
use everstep_expr::template::Template;
use everstep_source::Diagnostic;
use everstep_source::document::Content;

use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::model::{Assign, DataFlow, JsonPathFlow, JsonataFlow, Payload, QueryLanguage};
use crate::rule::Rule;

pub(super) fn lower(reading: &Reading<'_, '_>, kind: &str) -> DataFlow {
    let fields = &reading.fields;
    match reading.language {
        QueryLanguage::JsonPath => DataFlow::JsonPath(Box::new(json_path(fields, kind))),
        QueryLanguage::Jsonata => DataFlow::Jsonata(jsonata(fields, kind)),
    }
}

fn json_path(fields: &Fields<'_>, kind: &str) -> JsonPathFlow {
    let mut flow = JsonPathFlow::default();
    if kind == "Fail" {
        return flow;
    }
    flow.input_path = optional_path(fields.get("InputPath"));
    flow.output_path = optional_path(fields.get("OutputPath"));
    // A Map's Parameters are the older name of its ItemSelector.
    if matches!(kind, "Pass" | "Task" | "Parallel") {
        flow.parameters = fields.get("Parameters").and_then(|field| effective_input(&field));
    }
    if matches!(kind, "Pass" | "Task" | "Parallel" | "Map") {
        flow.result_path = result_path(fields.get("ResultPath"));
    }
    if matches!(kind, "Task" | "Parallel" | "Map") {
        flow.result_selector =
            fields.get("ResultSelector").and_then(|field| template_object(&field));
    }
    flow
}

/// `Parameters`, `ItemSelector`: what a state or an iteration works on.
pub(super) fn effective_input(field: &Field<'_>) -> Option<Template> {
    if field.cx.options.dialect.takes_any_template() {
        return path_template(field);
    }
    template_object(field)
}

/// "A Payload Template MUST be a JSON object."
fn template_object(field: &Field<'_>) -> Option<Template> {
    if field.node.as_object().is_none() {
        field.cx.report(field.wrong_type("an object"));
    }
    path_template(field)
}

fn jsonata(fields: &Fields<'_>, kind: &str) -> JsonataFlow {
    let mut flow = JsonataFlow::default();
    if matches!(kind, "Task" | "Parallel") {
        flow.arguments = fields.get("Arguments").and_then(|field| {
            if !matches!(field.node.content, Content::Object(_) | Content::String(_)) {
                field.cx.report(field.wrong_type("an object or a JSONata expression"));
            }
            jsonata_template_with(&field, Available::Nothing)
        });
    }
    if kind != "Fail" {
        flow.output = fields
            .get("Output")
            .and_then(|field| jsonata_template_with(&field, available_after(kind)));
    }
    flow
}

/// "The name must begin with a letter": Unicode identifiers of at most 80 characters.
const VARIABLE_CHARACTERS_MAX: usize = 80;

/// What `Output` and `Assign` of a state can read.
pub(super) fn available_after(kind: &str) -> Available {
    if matches!(kind, "Task" | "Parallel" | "Map") { Available::Result } else { Available::Nothing }
}

pub(super) fn assign(
    fields: &Fields<'_>,
    language: QueryLanguage,
    available: Available,
) -> Option<Assign> {
    let field = fields.get("Assign")?;
    let Some(members) = field.node.as_object() else {
        field.cx.report(field.wrong_type("an object"));
        return None;
    };
    let mut names = Vec::with_capacity(members.len());
    for member in members {
        let name = match language {
            QueryLanguage::JsonPath => member.name.strip_suffix(".$").unwrap_or(&member.name),
            QueryLanguage::Jsonata => &member.name,
        };
        if let Some(reason) = refused_name(name) {
            field.cx.report(
                Diagnostic::new(
                    Rule::InvalidVariableName,
                    member.name_span,
                    field.at.name(&member.name).place(),
                    format!("`{name}` cannot be a variable's name: {reason}"),
                )
                .service(if name == "states" {
                    "Cannot assign to reserved variable '$states'.".to_owned()
                } else {
                    format!("Invalid variable name '{name}': the variable name contains invalid characters.")
                })
                .service_code(if name == "states" {
                    ServiceCode::ReservedVariableName
                } else {
                    ServiceCode::InvalidVariableName
                })
                .service_location(Some(field.at.place().service_location())),
            );
        }
        names.push(name.to_owned());
    }
    let payload = match language {
        QueryLanguage::JsonPath => Payload::JsonPath(path_template(&field)?),
        QueryLanguage::Jsonata => Payload::Jsonata(jsonata_template_with(&field, available)?),
    };
    Some(Assign { names, payload })
}

fn refused_name(name: &str) -> Option<String> {
    let mut characters = name.chars();
    let starts_well = characters.next().is_some_and(|first| first.is_alphabetic() || first == '_');
    if !starts_well {
        return Some("it must begin with a letter".to_owned());
    }
    if let Some(bad) = characters.find(|c| !(c.is_alphanumeric() || *c == '_')) {
        return Some(format!("`{bad}` is neither a letter nor a digit nor `_`"));
    }
    if name.chars().count() > VARIABLE_CHARACTERS_MAX {
        return Some(format!("it is longer than {VARIABLE_CHARACTERS_MAX} characters"));
    }
    (name == "states").then(|| "`$states` is reserved".to_owned())
}

/// Whether a field belongs to the other query language, and what to use instead.
pub(super) fn of_other_language(name: &str, language: QueryLanguage) -> Option<&'static str> {
    let hint = match (language, name) {
        (QueryLanguage::Jsonata, "InputPath") => "use $states.input in expressions instead",
        (QueryLanguage::Jsonata, "OutputPath" | "ResultPath" | "ResultSelector" | "Result") => {
            "use Output instead"
        }
        (QueryLanguage::Jsonata, "Parameters") => "use Arguments instead",
        (QueryLanguage::Jsonata, "ItemsPath") => "use Items instead",
        (QueryLanguage::Jsonata, "Variable" | "And" | "Or" | "Not") => "use Condition instead",
        (QueryLanguage::Jsonata, name) if name.ends_with("Path") => {
            "use the field without `Path` and a {% … %} expression"
        }
        (QueryLanguage::JsonPath, "Arguments") => "use Parameters, or set QueryLanguage to JSONata",
        (QueryLanguage::JsonPath, "Output") => {
            "use ResultSelector, ResultPath and OutputPath, or set QueryLanguage to JSONata"
        }
        (QueryLanguage::JsonPath, "Items") => "use ItemsPath, or set QueryLanguage to JSONata",
        (QueryLanguage::JsonPath, "Condition") => {
            "use Variable and an operator, or set QueryLanguage to JSONata"
        }
        _ => return None,
    };
    Some(hint)
}
