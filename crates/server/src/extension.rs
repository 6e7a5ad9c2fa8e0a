//! What a server answers besides Step Functions: some operations of Lambda, and operations of its own.
//!
//! Functions and their invocations are not known here; whoever has them implements [`Extension`].

use std::future::Future;
use std::pin::Pin;

use serde_json::{Map, Value};

/// Work that is done when it is waited for.
pub type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub trait Extension: Send + Sync {
    /// Called for `POST /2015-03-31/functions/{name}/invocations`, once the caller is known to be allowed.
    fn invoke(&self, invoke: Invoke) -> Work<Result<Invoked, Refusal>>;

    /// Called for Lambda's operations that say what functions there are, once the caller is known to be allowed.
    fn look_up(&self, asked: &Lookup) -> Result<Value, Refusal>;

    /// Called for a request whose `X-Amz-Target` is `Everstep.` and this name.
    fn operate(&self, operation: &str, body: Value) -> Work<Result<Value, Refusal>>;
}

/// A function to be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoke {
    /// Its bare name, whatever it was called by.
    pub function: String,
    pub qualifier: Option<String>,
    pub manner: Manner,
    pub payload: Vec<u8>,
    /// What the caller tells the code beside the event.
    pub client_context: Option<Map<String, Value>>,
    /// Of all calls of a function with the same key, one runs.
    pub key: Option<String>,
}

/// What is asked about functions. They go by their bare names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lookup {
    /// `ListFunctions`: so many at most, by name, those after this one.
    Functions { after: Option<String>, max: usize },
    /// `GetFunction`
    Function(String),
    /// `GetFunctionConfiguration`
    Configuration(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    /// The caller waits.
    RequestResponse,
    /// The caller wants to know that it will be run.
    Event,
    /// The caller wants to know whether it could be.
    DryRun,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoked {
    /// The id of the invocation.
    pub id: String,
    pub version: String,
    /// What the function answered, if somebody waited for it.
    pub payload: Vec<u8>,
    /// The payload is an error.
    pub failed: bool,
    /// The last lines that the code wrote, if somebody waited for it.
    pub log: Vec<String>,
}

/// Why not: the status, the error's name and its words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub name: &'static str,
    pub message: String,
}

impl Refusal {
    #[must_use]
    pub fn new(status: u16, name: &'static str, message: impl Into<String>) -> Self {
        Self { status, name, message: message.into() }
    }
}
