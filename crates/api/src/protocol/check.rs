//! Whether the body of a request is what an operation accepts.

use serde_json::Value;

use super::error::{Common, Error};
use super::model::Operation;
use super::serialization::convertible;
use super::violation::Violations;

/// Compares a request with the input of its operation, and answers as the service does: a value of
/// another type is a `SerializationException`, and everything else that is wrong with it, all at once, a
/// `ValidationException`. After it an operation can rely on types, required members, bounds and values.
///
/// Members that the operation does not have are ignored: services that speak this protocol do so, and
/// newer SDKs count on it.
pub fn check(operation: Operation, body: &Value) -> Result<(), Error> {
    let input = operation.input();
    if body.is_null() {
        let message = "the body of the request must be a JSON object";
        return Err(Error::common(Common::Serialization, message));
    }
    convertible(input, body).map_err(|message| Error::common(Common::Serialization, message))?;
    let mut violations = Violations::default();
    violations.structure(input.members(), body, "");
    match violations.message() {
        Some(message) => Err(Error::common(Common::Validation, message)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
