//! A context object that the request brings.

use everstep_asl::model::{Kind, State};
use serde_json::{Map, Value};

use super::request::RequestError;

/// What the fields of the context object hold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    Number,
    Any,
}

const FIELDS: &[(&str, &[(&str, Type)])] = &[
    (
        "Execution",
        &[
            ("Id", Type::Text),
            ("Input", Type::Any),
            ("Name", Type::Text),
            ("RoleArn", Type::Text),
            ("StartTime", Type::Text),
            ("RedriveCount", Type::Number),
            ("RedriveTime", Type::Text),
        ],
    ),
    ("State", &[("EnteredTime", Type::Text), ("Name", Type::Text), ("RetryCount", Type::Number)]),
    ("StateMachine", &[("Id", Type::Text), ("Name", Type::Text)]),
    ("Task", &[("Token", Type::Text)]),
];

pub(super) fn read(text: &str, state: &State) -> Result<Value, RequestError> {
    let context: Map<String, Value> =
        serde_json::from_str(text).map_err(|_| refused("must be a JSON object"))?;
    for (name, value) in &context {
        check(name, value, state)?;
    }
    Ok(Value::Object(context))
}

fn check(name: &str, value: &Value, state: &State) -> Result<(), RequestError> {
    if name == "Map" {
        return Err(refused("'Map' field is not supported when mocking a Context object"));
    }
    let Some((_, known)) = FIELDS.iter().find(|(field, _)| *field == name) else {
        return Err(refused(&format!("Field '{name}' is not allowed")));
    };
    if name == "Task" && !has_token(state) {
        return Err(refused(
            "Context object contains 'Task' when state is not a Task state with a '.sync' or \
             '.waitForTaskToken' service integration pattern",
        ));
    }
    let Value::Object(fields) = value else {
        return Err(refused(&format!("{name} must be an object")));
    };
    fields.iter().try_for_each(|(field, value)| {
        let Some((_, expected)) = known.iter().find(|(known, _)| known == field) else {
            return Err(refused(&format!("Field '{name}.{field}' is not allowed")));
        };
        check_type(*expected, value)
            .map_err(|kind| refused(&format!("{name}.{field} must be a {kind}")))
    })
}

fn check_type(expected: Type, value: &Value) -> Result<(), &'static str> {
    match expected {
        Type::Text if !value.is_string() => Err("string"),
        Type::Number if !value.is_number() => Err("number"),
        _ => Ok(()),
    }
}

pub(super) fn has_token(state: &State) -> bool {
    matches!(&state.kind, Kind::Task(task) if task.resource.has_token())
}

fn refused(why: &str) -> RequestError {
    RequestError::invalid(format!("Invalid Context object provided: {why}"))
}
