//! An invocation elsewhere, waited for until it ends: each attempt that fails is told of when it has.

use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::api::{Api, Unanswered};
use super::{failure, invocation};
use crate::output::Stream;
use everstep_source::words;

/// How often a server is asked for news.
const PACE: Duration = Duration::from_millis(250);

pub(crate) struct Awaiting<'a> {
    api: &'a Api,
    id: &'a str,
    /// The last attempt that was told of.
    told: u64,
}

impl<'a> Awaiting<'a> {
    pub(crate) fn new(api: &'a Api, id: &'a str) -> Self {
        Self { api, id, told: 0 }
    }

    /// The invocation as it has ended; a server that goes away and comes back is waited for.
    pub(crate) fn until_it_ends(&mut self) -> Result<Value> {
        let mut missed = false;
        loop {
            match invocation::fetch(self.api, self.id) {
                Ok(found) => {
                    missed = false;
                    let over = is_over(&found);
                    Stream::Story.write(&news(&found, &mut self.told))?;
                    if over {
                        return Ok(found);
                    }
                }
                Err(error) if error.is::<Unanswered>() => {
                    if !std::mem::replace(&mut missed, true) {
                        Stream::Story.write("the server does not answer; waiting for it\n")?;
                    }
                }
                Err(error) => return Err(error),
            }
            std::thread::sleep(PACE);
        }
    }
}

/// A line for each attempt that has failed after the one that was `told` last. That of one that is over is
/// told with its end.
fn news(found: &Value, told: &mut u64) -> String {
    let mut text = String::new();
    let over = is_over(found);
    for attempt in found["attempts"].as_array().into_iter().flatten() {
        let n = attempt["n"].as_u64().unwrap_or_default();
        let is_end = over && found["attemptCount"] == n;
        if n > *told && attempt.get("errorType").is_some() && !is_end {
            text += &line(attempt, n);
            *told = n;
        }
    }
    text
}

fn line(attempt: &Value, n: u64) -> String {
    let head = failure::head(attempt);
    let head = head.lines().next().unwrap_or_default();
    let next = match attempt["nextDelayMs"].as_i64() {
        None => String::new(),
        Some(0) => format!("; attempt {} begins at once", n + 1),
        Some(ms) => format!("; attempt {} begins {} later", n + 1, words::span(ms)),
    };
    format!("attempt {n} failed: {head}{next}\n")
}

fn is_over(found: &Value) -> bool {
    !matches!(found["state"].as_str(), Some("Accepted" | "Running" | "Waiting"))
}

/// How one ended that did not succeed, and what can be done about it.
pub(crate) fn failure_told(function: &str, ended: &Value) -> String {
    let attempts = ended["attempts"].as_array().map(Vec::as_slice).unwrap_or_default();
    let failed = attempts.iter().rfind(|attempt| attempt.get("errorType").is_some());
    let count = ended["attemptCount"].as_u64().unwrap_or_default();
    let state = invocation::state(ended);
    let mut text = match failed {
        Some(failed) => {
            let times = words::times(count);
            let head = failure::head(failed);
            let mut text = format!("{function} was tried {times} and failed: {head}\n");
            for line in failure::stack(failed) {
                text += &format!("  {line}\n");
            }
            text + &failure::indented("it wrote:", &failure::log(failed))
        }
        None => format!("{function} has not run\n"),
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
    fn attempts_are_told_of_once() {
        let mut told = 0;
        let mut check = |state: &str, delays: &[Option<u64>], expected: &str| {
            assert_eq!(news(&invocation(state, delays), &mut told), expected);
        };
        check("Running", &[], "");
        let first = "attempt 1 failed: E: no; attempt 2 begins 4 s later\n";
        check("Waiting", &[Some(4000)], first);
        check("Running", &[Some(4000)], "");
        let second = "attempt 2 failed: E: no; attempt 3 begins at once\n";
        check("Exhausted", &[Some(4000), Some(0), None], second);
    }

    #[test]
    fn ends() {
        let check = |delays: &[Option<u64>], expected: &str| {
            assert_eq!(failure_told("f", &invocation("Exhausted", delays)), expected);
        };
        let end = "Exhausted (RetriesExhausted): no retry is left\n\
                   hint: it is a dead letter: `everstep deadletters redrive i` runs it again, with all its retries\n";
        check(&[], &format!("f has not run\n{end}"));
        check(&[Some(0), None], &format!("f was tried twice and failed: E: no\nat all\n{end}"));
    }
}
