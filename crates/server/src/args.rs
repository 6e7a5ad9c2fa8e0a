//! The members of a request that has been checked: types and required members can be relied upon.

use everstep_api::protocol::{Error, Name, Operation};
use serde_json::Value;

/// A checked request and the operation it is for.
#[derive(Clone, Copy)]
pub(crate) struct Args<'r> {
    pub(crate) operation: Operation,
    body: &'r Value,
}

impl<'r> Args<'r> {
    pub(crate) fn new(operation: Operation, body: &'r Value) -> Self {
        Self { operation, body }
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'r Value> {
        self.body.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn body(&self) -> &'r Value {
        self.body
    }

    pub(crate) fn text(&self, name: &str) -> Option<&'r str> {
        self.value(name)?.as_str()
    }

    /// A member that the model requires.
    pub(crate) fn required(&self, name: &str) -> &'r str {
        self.text(name).unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.value(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        let value = self.value(name)?;
        value.as_u64().or_else(|| value.as_f64().map(|number| number as u64))
    }

    pub(crate) fn error(&self, name: Name, message: impl Into<String>) -> Error {
        Error::new(self.operation, name, message)
    }

    /// The size of a page: 0 and nothing mean the service's 100.
    pub(crate) fn page_size(&self) -> usize {
        match self.number("maxResults") {
            None | Some(0) => 100,
            Some(size) => usize::try_from(size).unwrap_or(1000).min(1000),
        }
    }
}
