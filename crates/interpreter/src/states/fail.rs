//! Fail states.

use std::sync::Arc;

use everstep_asl::model::{Fail, State, Text};
use everstep_expr::template::TemplateError;
use everstep_history::{Failure, FrameId};
use serde_json::Value;

use crate::context::Extra;
use crate::decide::Decider;
use crate::fault::{Fault, unexpected_type};
use crate::flow::Evaluation;
use crate::raised::RaisedFailure;

pub(crate) fn run(
    decider: &mut Decider<'_>,
    id: FrameId,
    _state: &State,
    fail: &Fail,
) -> Result<(), Fault> {
    let failure = failure(&decider.evaluation(id, Extra::default()), fail, &decider.input(id))?;
    decider.fail(id, RaisedFailure::named(failure));
    Ok(())
}

pub(crate) fn failure(
    evaluation: &Evaluation<'_>,
    fail: &Fail,
    input: &Value,
) -> Result<Failure, Fault> {
    Ok(Failure {
        error: text(evaluation, fail.error.as_ref(), "Error", "ErrorPath", input)?,
        cause: text(evaluation, fail.cause.as_ref(), "Cause", "CausePath", input)?,
    })
}

fn text(
    evaluation: &Evaluation<'_>,
    text: Option<&Text>,
    field: &str,
    path_field: &str,
    input: &Value,
) -> Result<Option<Arc<str>>, Fault> {
    match text {
        None => Ok(None),
        Some(Text::Literal(text)) => Ok(Some(Arc::from(text.as_str()))),
        Some(Text::Expression(expression)) => {
            let value =
                expression.evaluate(&evaluation.scope(input)).map_err(|error| Fault::Template {
                    error: TemplateError { field: path_field.to_owned(), error },
                    input: input.to_string(),
                })?;
            match &*value {
                Value::String(text) => Ok(Some(Arc::from(text.as_str()))),
                other => Err(Fault::Runtime(format!(
                    "The {path_field} field refers to value {other} which is not a string: {}",
                    expression.as_str()
                ))),
            }
        }
        Some(Text::Jsonata(expression)) => match evaluation.expression(expression, field, input)? {
            Value::String(text) => Ok(Some(Arc::from(text))),
            other => Err(unexpected_type(field, expression.as_str(), "string", &other)),
        },
    }
}
