//! What is answered, and its form on the wire.

use std::sync::Arc;

use everstep_asl::model::Resource;
use everstep_history::{Failure, Payload};
use serde_json::{Map, Value, json};

/// What came of a request.
#[derive(Debug, Clone, PartialEq)]
pub enum Tested {
    Done(Box<Response>),
    /// The state calls this. The same request with the answer continues from there.
    Calls(Call),
}

/// A task to run.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub resource: Arc<Resource>,
    pub parameters: Payload,
    pub credentials: Option<Payload>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TestStatus {
    Succeeded,
    Failed,
    Retriable,
    CaughtError,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub status: TestStatus,
    pub output: Option<Payload>,
    pub failure: Failure,
    pub next_state: Option<Arc<str>>,
    /// Not at level `INFO`.
    pub inspection: Option<Inspection>,
    /// Why a mocked result was not compared with what the action returns, if it should have been.
    pub unchecked: Option<String>,
}

/// Data on its way through the state; what did not come to be is left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inspection {
    pub input: Option<Payload>,
    pub after_arguments: Option<Payload>,
    pub after_input_path: Option<Payload>,
    pub after_parameters: Option<Payload>,
    pub result: Option<Payload>,
    pub after_result_selector: Option<Payload>,
    pub after_result_path: Option<Payload>,
    pub after_items_path: Option<Payload>,
    pub after_items_pointer: Option<Payload>,
    pub after_item_selector: Option<Payload>,
    pub after_item_batcher: Option<Payload>,
    pub variables: Option<Payload>,
    pub error_details: Option<ErrorDetails>,
    pub max_concurrency: Option<u64>,
    pub tolerated_failure_count: Option<u64>,
    pub tolerated_failure_percentage: Option<f64>,
}

/// Which retrier and which catcher took a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorDetails {
    pub catch_index: Option<usize>,
    pub retry_index: Option<usize>,
    pub retry_backoff_interval_seconds: Option<u64>,
}

impl Tested {
    pub(super) fn with_unchecked(self, unchecked: Option<String>) -> Self {
        match self {
            Self::Done(response) => Self::Done(Box::new(Response { unchecked, ..*response })),
            calls @ Self::Calls(_) => calls,
        }
    }
}

impl TestStatus {
    /// The service's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::Retriable => "RETRIABLE",
            Self::CaughtError => "CAUGHT_ERROR",
        }
    }
}

impl Response {
    /// The response as the API gives it: data is the text of JSON.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        fields.insert("status".to_owned(), json!(self.status.name()));
        let texts = [
            ("output", self.output.as_ref().map(Payload::text)),
            ("error", self.failure.error.as_deref().map(str::to_owned)),
            ("cause", self.failure.cause.as_deref().map(str::to_owned)),
            ("nextState", self.next_state.as_deref().map(str::to_owned)),
        ];
        for (name, text) in texts {
            put(&mut fields, name, text.map(Value::String));
        }
        put(&mut fields, "inspectionData", self.inspection.as_ref().map(Inspection::to_value));
        Value::Object(fields)
    }
}

impl Inspection {
    fn to_value(&self) -> Value {
        let data = [
            ("input", &self.input),
            ("afterArguments", &self.after_arguments),
            ("afterInputPath", &self.after_input_path),
            ("afterParameters", &self.after_parameters),
            ("result", &self.result),
            ("afterResultSelector", &self.after_result_selector),
            ("afterResultPath", &self.after_result_path),
            ("afterItemsPath", &self.after_items_path),
            ("afterItemsPointer", &self.after_items_pointer),
            ("afterItemSelector", &self.after_item_selector),
            ("afterItemBatcher", &self.after_item_batcher),
            ("variables", &self.variables),
        ];
        let mut fields = Map::new();
        for (name, payload) in data {
            put(&mut fields, name, payload.as_ref().map(|payload| json!(payload.text())));
        }
        put(&mut fields, "errorDetails", self.error_details.map(ErrorDetails::to_value));
        put(&mut fields, "maxConcurrency", self.max_concurrency.map(Value::from));
        put(&mut fields, "toleratedFailureCount", self.tolerated_failure_count.map(Value::from));
        let percentage = self.tolerated_failure_percentage.map(Value::from);
        put(&mut fields, "toleratedFailurePercentage", percentage);
        Value::Object(fields)
    }
}

impl ErrorDetails {
    fn to_value(self) -> Value {
        let mut fields = Map::new();
        put(&mut fields, "catchIndex", self.catch_index.map(Value::from));
        put(&mut fields, "retryIndex", self.retry_index.map(Value::from));
        let seconds = self.retry_backoff_interval_seconds.map(Value::from);
        put(&mut fields, "retryBackoffIntervalSeconds", seconds);
        Value::Object(fields)
    }
}

fn put(fields: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    if let Some(value) = value {
        fields.insert(name.to_owned(), value);
    }
}
