//! Waits for an invocation on a server until it ends, and reports each attempt that fails.

use std::time::Duration;

use anyhow::Result;
use everstep_source::words;
use everstep_story::invocation::{failure, state};
use serde_json::Value;

use super::api::{Api, Unanswered};
use crate::output::Stream;

/// How often the server is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

pub(crate) struct InvocationWatch<'a> {
    api: &'a Api,
    id: &'a str,
    /// The last attempt that was reported.
    reported: u64,
}

impl<'a> InvocationWatch<'a> {
    pub(crate) fn new(api: &'a Api, id: &'a str) -> Self {
        Self { api, id, reported: 0 }
    }

    /// The invocation when it has ended, even across a restart of the server.
    pub(crate) fn wait(&mut self) -> Result<Value> {
        let mut missed = false;
        loop {
            match self.api.invocation(self.id) {
                Ok(found) => {
                    missed = false;
                    let over = is_over(&found);
                    Stream::Story.write(&failed_attempts(&found, &mut self.reported))?;
                    if over {
                        return Ok(found);
                    }
                }
                Err(error) if error.is::<Unanswered>() => {
                    if !std::mem::replace(&mut missed, true) {
                        Stream::Story.write("no connection to the server; retrying\n")?;
                    }
                }
                Err(error) => return Err(error),
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

/// A line for each attempt that has failed since the last one that was reported. The last attempt of an
/// invocation that has ended is part of [`describe_failure`].
fn failed_attempts(found: &Value, reported: &mut u64) -> String {
    let mut text = String::new();
    let over = is_over(found);
    for attempt in found["attempts"].as_array().into_iter().flatten() {
        let n = attempt["n"].as_u64().unwrap_or_default();
        let is_end = over && found["attemptCount"] == n;
        if n > *reported && attempt.get("errorType").is_some() && !is_end {
            text += &line(attempt, n);
            *reported = n;
        }
    }
    text
}

fn line(attempt: &Value, n: u64) -> String {
    let head = failure::head(attempt);
    let head = head.lines().next().unwrap_or_default();
    let next = match attempt["nextDelayMs"].as_i64() {
        None => String::new(),
        Some(0) => "; retrying now".to_owned(),
        Some(ms) => format!("; next retry in {}", words::span(ms)),
    };
    format!("attempt {n} failed: {head}{next}\n")
}

fn is_over(found: &Value) -> bool {
    !matches!(found["state"].as_str(), Some("Accepted" | "Running" | "Waiting"))
}

/// How an invocation failed, and what to do about it.
pub(crate) fn describe_failure(function: &str, ended: &Value) -> String {
    let attempts = ended["attempts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let failed = attempts.iter().rfind(|attempt| attempt.get("errorType").is_some());
    let attempts_made = ended["attemptCount"].as_u64().unwrap_or_default();
    let attempts_made = usize::try_from(attempts_made).unwrap_or(usize::MAX);
    let state = state(ended);
    let mut text = match failed {
        Some(failed) => {
            let head = failure::head(failed);
            let mut text = format!(
                "{function} failed after {}: {head}\n",
                words::count(attempts_made, "attempt")
            );
            for line in failure::stack(failed) {
                text += &format!("  {line}\n");
            }
            text + &failure::indented("output:", &failure::log(failed))
        }
        None => format!("{function} did not run\n"),
    };
    text += &format!("{state}\n");
    if ended["deadLetter"] == true {
        text += &format!("hint: {}\n", failure::remedy(ended));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn invocation(state: &str, delays: &[Option<u64>]) -> Value {
        let attempt = |(at, delay): (usize, &Option<u64>)| json!({ "n": at + 1, "errorType": "E", "errorMessage": "no\nat all", "nextDelayMs": delay });
        let attempts: Vec<Value> = delays.iter().enumerate().map(attempt).collect();
        json!({
            "invocationId": "i", "state": state, "reason": "RetriesExhausted", "deadLetter": true,
            "attemptCount": attempts.len(), "attempts": attempts,
        })
    }

    #[test]
    fn attempts_are_reported_once() {
        let mut reported = 0;
        let mut check = |state: &str, delays: &[Option<u64>], expected: &str| {
            assert_eq!(failed_attempts(&invocation(state, delays), &mut reported), expected);
        };
        check("Running", &[], "");
        let first = "attempt 1 failed: E: no; next retry in 4 s\n";
        check("Waiting", &[Some(4000)], first);
        check("Running", &[Some(4000)], "");
        let second = "attempt 2 failed: E: no; retrying now\n";
        check("Exhausted", &[Some(4000), Some(0), None], second);
    }

    #[test]
    fn ends() {
        let check = |delays: &[Option<u64>], expected: &str| {
            assert_eq!(describe_failure("f", &invocation("Exhausted", delays)), expected);
        };
        let end = "Exhausted (RetriesExhausted): no retry is left\n\
                   hint: dead letter; to run it again, use `everstep deadletters redrive i`\n";
        check(&[], &format!("f did not run\n{end}"));
        check(&[Some(0), None], &format!("f failed after 2 attempts: E: no\nat all\n{end}"));
    }
}
