//! What callers of the API ask of functions, and what they are answered.

use serde_json::{Map, Value};

/// Lambda's `Invoke`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invoke {
    /// Its bare name, whatever it was called by.
    pub(crate) function: String,
    pub(crate) qualifier: Option<String>,
    pub(crate) invocation_type: InvocationType,
    pub(crate) payload: Vec<u8>,
    /// Data for the code, beside the event.
    pub(crate) client_context: Option<Map<String, Value>>,
    /// Of all calls of a function with the same key, only one runs.
    pub(crate) key: Option<String>,
}

/// Lambda's operations that read. Functions go by their bare names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// `ListFunctions`: at most `max`, by name, those after `after`.
    Functions { after: Option<String>, max: usize },
    /// `GetFunction`
    Function(String),
    /// `GetFunctionConfiguration`
    Configuration(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InvocationType {
    /// The caller waits for the result.
    RequestResponse,
    /// The caller waits until the call is durable.
    Event,
    /// Nothing runs; the caller learns whether it could.
    DryRun,
}

/// What became of an [`Invoke`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Invoked {
    /// The id of the invocation.
    pub(crate) id: String,
    pub(crate) version: String,
    /// The function's answer; empty unless the call was synchronous.
    pub(crate) payload: Vec<u8>,
    /// The payload is an error.
    pub(crate) failed: bool,
    /// The last lines that the code wrote; empty unless the call was synchronous.
    pub(crate) log: Vec<String>,
}

/// Why an operation is refused: HTTP status, name and message of the error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) name: &'static str,
    pub(crate) message: String,
}

impl Refusal {
    #[must_use]
    pub(crate) fn new(status: u16, name: &'static str, message: impl Into<String>) -> Self {
        Self { status, name, message: message.into() }
    }

    pub(crate) fn unknown_operation(name: &str) -> Self {
        let message = format!("unknown operation Everstep.{name}");
        Self::new(400, "UnknownOperationException", message)
    }
}
