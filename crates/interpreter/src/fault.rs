//! What goes wrong inside the interpreter, and how each dialect names and words it.

use everstep_asl::handling::Origin;
use everstep_asl::model::Kind;
use everstep_asl::{RuntimeError, error_name};
use everstep_expr::EvalError;
use everstep_expr::jsonata;
use everstep_expr::template::TemplateError;
use everstep_history::{Failure, Payload};
use serde_json::Value;

use crate::Dialect;

/// A state that cannot do its work.
#[derive(Debug)]
pub(crate) enum Fault {
    /// `InputPath`, `OutputPath`, a `…Path` setting.
    Path(EvalError),
    /// A payload template, or a field that takes the same expressions.
    Template {
        error: TemplateError,
        input: String,
    },
    ResultPath {
        path: String,
        input: String,
    },
    NoChoiceMatched,
    /// Any other reason for `States.Runtime`.
    Runtime(String),
    /// A JSONata expression threw or has no value.
    Jsonata {
        location: String,
        expression: String,
        error: EvalError,
    },
    /// A JSONata value cannot be used where it stands.
    Query {
        location: Option<String>,
        message: String,
    },
    /// Something is larger than a payload may be; `what` is how the service calls it.
    TooLarge {
        what: String,
    },
    /// Something nests deeper than can be recorded.
    TooDeep,
}

/// A failure, and what the history says about it besides.
pub(crate) struct Verdict {
    pub(crate) failure: Failure,
    /// An `EvaluationFailed` event comes first, with this location.
    pub(crate) evaluation: Option<Option<String>>,
}

impl Fault {
    /// A state cannot catch that its own data are too large, and only states with `Retry` and
    /// `Catch` can handle anything.
    pub(crate) fn origin(&self, kind: &Kind) -> Origin {
        let fatal = matches!(self, Self::TooLarge { .. } | Self::TooDeep)
            || !matches!(kind, Kind::Task(_) | Kind::Parallel(_) | Kind::Map(_));
        if fatal { Origin::Fatal } else { Origin::Named }
    }

    /// For the state of this name, which was entered by the event of this id.
    pub(crate) fn verdict(self, dialect: Dialect, state: &str, entered_id: u32) -> Verdict {
        let evaluation = match &self {
            Self::Jsonata { location, .. } => Some(Some(location.clone())),
            Self::Query { location, .. } => Some(location.clone()),
            _ => None,
        };
        let (error, message) = self.name_and_message(dialect);
        let cause = if error == error_name::DATA_LIMIT_EXCEEDED {
            message
        } else {
            format!(
                "An error occurred while executing the state '{state}' (entered at the event id \
                 #{entered_id}). {message}"
            )
        };
        Verdict { failure: Failure::new(error, cause), evaluation }
    }

    pub(crate) fn name_and_message(self, dialect: Dialect) -> (&'static str, String) {
        match self {
            Self::Path(error) => (error_name::RUNTIME, path_message(&error)),
            Self::Template { error, input } => template_message(dialect, &error, &input),
            Self::ResultPath { path, input } => (
                dialect.runtime_error(RuntimeError::ResultPath),
                format!("Unable to apply ReferencePath {path} to input {input}"),
            ),
            Self::NoChoiceMatched => (
                dialect.runtime_error(RuntimeError::NoChoiceMatched),
                "Failed to transition out of the state. The state does not point to a next state."
                    .to_owned(),
            ),
            Self::Runtime(message) => (error_name::RUNTIME, message),
            Self::Jsonata { location, expression, error } => (
                "States.QueryEvaluationError",
                format!(
                    "The JSONata expression '{expression}' specified for the field '{location}' {}",
                    jsonata_message(&error)
                ),
            ),
            Self::Query { message, .. } => ("States.QueryEvaluationError", message),
            Self::TooLarge { what } => (
                error_name::DATA_LIMIT_EXCEEDED,
                format!(
                    "The state/task '{what}' returned a result with a size exceeding the maximum number \
                     of bytes service limit."
                ),
            ),
            Self::TooDeep => (
                error_name::DATA_LIMIT_EXCEEDED,
                format!(
                    "The result of a state is nested more than {} levels deep.",
                    Payload::DEPTH_MAX
                ),
            ),
        }
    }
}

/// A payload that can be recorded and read again. Every one that was computed comes past here
/// before it is part of an event, or a loop could nest data deeper than any stack is.
pub(crate) fn not_too_deep(payload: Payload) -> Result<Payload, Fault> {
    if payload.depth() > Payload::DEPTH_MAX { Err(Fault::TooDeep) } else { Ok(payload) }
}

fn path_message(error: &EvalError) -> String {
    match error {
        EvalError::Path { path, reason } => format!("Invalid path '{path}' : {reason}"),
        other => other.to_string(),
    }
}

fn template_message(
    dialect: Dialect,
    error: &TemplateError,
    input: &str,
) -> (&'static str, String) {
    match &error.error {
        EvalError::Path { path, .. } => (
            dialect.runtime_error(RuntimeError::ParameterPath),
            format!(
                "The JSONPath '{path}' specified for the field '{}' could not be found in the input '{input}'",
                error.field
            ),
        ),
        EvalError::Intrinsic { call, reason } => (
            dialect.runtime_error(RuntimeError::Intrinsic),
            format!("The function '{call}' had the following error: {reason}"),
        ),
        other => (dialect.runtime_error(RuntimeError::Intrinsic), other.to_string()),
    }
}

fn jsonata_message(error: &EvalError) -> String {
    match error {
        EvalError::Undefined => "returned nothing (undefined).".to_owned(),
        EvalError::NotJson => "returned an unsupported result type.".to_owned(),
        other => format!("threw an error during evaluation. {other}"),
    }
}

/// The fault of a JSONata template in the field of this name.
pub(crate) fn of_jsonata(field: &str, error: jsonata::TemplateError) -> Fault {
    let location = std::iter::once(field)
        .chain(error.location.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join("/");
    Fault::Jsonata { location, expression: error.expression, error: error.error }
}

/// A JSONata value of the wrong type.
pub(crate) fn unexpected_type(
    location: &str,
    expression: &str,
    expected: &str,
    value: &Value,
) -> Fault {
    Fault::Query {
        location: Some(location.to_owned()),
        message: format!(
            "The JSONata expression '{expression}' specified for the field '{location}' returned an \
             unexpected result type. Expected '{expected}', but was '{}' for value: {value}",
            type_name(value)
        ),
    }
}

pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
