//! The client context: what the code of a function can read about its retries.

use std::fmt::Write;
use std::sync::Arc;

use everstep_retry::Class;
use serde_json::{Map, Value};

use crate::function::{Failure, RetryMetadata, clip};
use crate::id::InvocationId;
use crate::invocation::Invocation;

const MESSAGE_BYTES_MAX: usize = 1024;

/// The client context of the attempt that is running. All values are texts and there is no key beside
/// `custom`: other shapes make the Rust client exit.
pub(crate) fn client_context(invocation: &Invocation) -> String {
    let counts = (retry_count(invocation), invocation.terms.policy.retries_max());
    let (attempts, id) = (&invocation.attempts, invocation.id);
    context(Map::new(), counts, attempts.current(), attempts.last_failure(), id)
}

/// The client context of a call that is never retried. What the caller has `given` is passed on as it
/// is, whatever clients make of it; only its `custom` object gets our entries besides.
pub(crate) fn of_single_call(id: InvocationId, given: Map<String, Value>) -> String {
    context(given, (0, Some(0)), 1, None, id)
}

fn context(
    mut context: Map<String, Value>,
    (count, max): (u32, Option<u32>),
    attempt: u32,
    failure: Option<&Failure>,
    id: InvocationId,
) -> String {
    let custom = context.entry("custom").or_insert_with(|| Map::new().into());
    let mut put = |name: &str, value: String| {
        if let Value::Object(custom) = &mut *custom {
            custom.insert(format!("everstep.{name}"), value.into());
        }
    };
    put("retryCount", count.to_string());
    put("maxRetryCount", max.map_or("-1".to_owned(), |max| max.to_string()));
    put("attempt", attempt.to_string());
    if let Some(failure) = failure {
        put("lastErrorType", failure.error_type.clone());
        put("lastErrorMessage", clip(&failure.message, MESSAGE_BYTES_MAX).to_owned());
    }
    put("idempotencyKey", id.to_string());
    ascii(&Value::Object(context).to_string())
}

fn retry_count(invocation: &Invocation) -> u32 {
    invocation.retries.iter().fold(0, |sum: u32, count| sum.saturating_add(*count))
}

/// Only texts of a JSON text have other characters, and there they may be escaped: a header must have
/// none of them.
fn ascii(json: &str) -> String {
    let mut plain = String::with_capacity(json.len());
    for c in json.chars() {
        if c.is_ascii() && !c.is_ascii_control() {
            plain.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(plain, "\\u{unit:04x}").expect("writing to memory cannot fail");
            }
        }
    }
    plain
}

/// The event as the attempt that is running gets it.
pub(crate) fn event(invocation: &Invocation, payload: &Arc<[u8]>) -> Arc<[u8]> {
    let failure = invocation.attempts.last_failure();
    match (invocation.terms.retry_metadata, failure) {
        (RetryMetadata::Unum, Some(failure)) => {
            unum(invocation, failure, payload).map_or(payload.clone(), Into::into)
        }
        _ => payload.clone(),
    }
}

fn unum(invocation: &Invocation, failure: &Failure, payload: &[u8]) -> Option<Vec<u8>> {
    let mut event: Map<String, Value> = serde_json::from_slice(payload).ok()?;
    let kind = if failure.class == Class::User { "User" } else { "Runtime" };
    let number = invocation.attempts.current().saturating_sub(1);
    event.insert("Retry Number".to_owned(), number.into());
    event.insert("ErrorType".to_owned(), kind.into());
    event.insert("ErrorMessage".to_owned(), failure.message.clone().into());
    event.insert("StackTrace".to_owned(), failure.stack.join("\n").into());
    Some(Value::Object(event).to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &str, expected: &str) {
        let id = InvocationId::drawn([0, 0]);
        let given = serde_json::from_str(given).unwrap();
        let found: Value = serde_json::from_str(&of_single_call(id, given)).unwrap();
        let expected = expected.replace("ID", &id.to_string());
        assert_eq!(found, serde_json::from_str::<Value>(&expected).unwrap());
    }

    #[test]
    fn what_callers_give_is_passed_on() {
        let own = r#""everstep.retryCount":"0","everstep.maxRetryCount":"0","everstep.attempt":"1","everstep.idempotencyKey":"ID""#;
        check("{}", &format!(r#"{{"custom":{{{own}}}}}"#));
        check(
            r#"{"client":{"app":"é"},"custom":{"n":1,"everstep.attempt":"7"}}"#,
            &format!(r#"{{"client":{{"app":"é"}},"custom":{{"n":1,{own}}}}}"#),
        );
        check(r#"{"custom":null}"#, r#"{"custom":null}"#);
    }

    #[test]
    fn headers_are_plain() {
        assert_eq!(
            ascii("{\"a\":\"é\u{1F600}\u{7f}\"}"),
            "{\"a\":\"\\u00e9\\ud83d\\ude00\\u007f\"}"
        );
    }
}
