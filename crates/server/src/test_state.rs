//! A request of `TestState` as the interpreter takes it.

use everstep_interpreter::Identity;
use everstep_interpreter::test_state::{
    Configuration, FieldValidation, Level, Mock, MockError, Request,
};
use serde_json::Value;

/// Reads a body whose types have been checked. Dialect, limits, time and seed are the caller's to set.
#[must_use]
pub fn request(body: &Value, identity: Identity) -> Request {
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    Request {
        state_name: text("stateName"),
        input: text("input"),
        variables: text("variables"),
        context: text("context"),
        mock: body.get("mock").filter(|mock| !mock.is_null()).map(mock),
        configuration: configuration(&body["stateConfiguration"]),
        level: body["inspectionLevel"].as_str().and_then(Level::find).unwrap_or_default(),
        reveal_secrets: body["revealSecrets"] == true,
        ..Request::new(text("definition").unwrap_or_default(), identity)
    }
}

fn mock(given: &Value) -> Mock {
    let mode = given["fieldValidationMode"].as_str().and_then(FieldValidation::find);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let error =
        |error: &Value| MockError { error: text(&error["error"]), cause: text(&error["cause"]) };
    Mock {
        result: text(&given["result"]),
        error_output: given.get("errorOutput").filter(|error| !error.is_null()).map(error),
        field_validation: mode.unwrap_or_default(),
    }
}

fn configuration(given: &Value) -> Configuration {
    let number = |name: &str| given[name].as_u64().and_then(|count| u32::try_from(count).ok());
    let text = |name: &str| given[name].as_str().map(str::to_owned);
    Configuration {
        retrier_retry_count: number("retrierRetryCount").unwrap_or(0),
        error_caused_by_state: text("errorCausedByState"),
        map_iteration_failure_count: number("mapIterationFailureCount"),
        map_item_reader_data: text("mapItemReaderData"),
    }
}
