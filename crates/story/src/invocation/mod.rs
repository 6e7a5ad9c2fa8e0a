//! An invocation of a function as text: its state, every attempt, its destinations, and what happens next.
//!
//! It is read from the JSON that the server's operations return.

pub mod failure;
pub mod policy;

use everstep_retry::Policy;
use everstep_source::words::{self, count};
use serde_json::Value;

use crate::history::millis;
use crate::text::{facts, member, moment, payload};

/// Everything about it, in lines of about `width` characters. `session` is null if it is not part of one.
#[must_use]
pub fn describe(invocation: &Value, session: &Value, now_ms: i64, width: usize) -> String {
    let owned = |named: Vec<(String, String)>| {
        let named: Vec<_> = named.iter().map(|(name, text)| (&**name, text.clone())).collect();
        facts(&named)
    };
    let end = vec![
        ("Session".to_owned(), describe_session(session)),
        ("Destination".to_owned(), destinations(invocation)),
        ("Next".to_owned(), next(invocation, now_ms)),
    ];
    let parts = [facts(&head(invocation, width)), owned(attempts(invocation)), owned(end)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn head(invocation: &Value, width: usize) -> Vec<(&'static str, String)> {
    let text = |name: &str| member(invocation, name);
    let moment = |name: &str| moment(&invocation[name]);
    let room = width.saturating_sub(12);
    let payload = |name: &str| match &invocation[name] {
        Value::Null => String::new(),
        value => payload(&value.to_string(), room),
    };
    let throttled = invocation["throttledCount"].as_u64();
    // A function that does not exist has no slots to wait for.
    let throttled = throttled.filter(|count| *count > 0 && !is_missing(invocation));
    let succeeded = invocation["state"] == "Succeeded";
    vec![
        ("Id", text("invocationId")),
        ("Function", format!("{}, version {}", text("function"), text("version"))),
        ("State", state(invocation)),
        ("Source", source(&invocation["source"])),
        ("Key", text("dedupeKey")),
        ("Accepted", moment("acceptedAt")),
        ("Expires", moment("expiresAt")),
        ("Ended", moment("endedAt")),
        ("Took", took(invocation, "acceptedAt").map(words::measured).unwrap_or_default()),
        ("Throttled", throttled.map(words::times).unwrap_or_default()),
        ("Redrive of", text("redrivenFrom")),
        ("Redriven as", text("redrivenAs")),
        ("Payload", payload("payload")),
        // Attempts show what a failure returned.
        ("Response", if succeeded { payload("response") } else { String::new() }),
    ]
}

fn took(record: &Value, from: &str) -> Option<i64> {
    Some(millis(&record["endedAt"])? - millis(&record[from])?)
}

/// Its function is no longer configured.
#[must_use]
pub fn is_missing(invocation: &Value) -> bool {
    invocation["functionMissing"] == true
}

/// Whether its last attempt was cut by a crash of the server, and has not been started again.
#[must_use]
pub fn is_interrupted(invocation: &Value) -> bool {
    let last = invocation["attempts"].as_array().and_then(|attempts| attempts.last());
    last.is_some_and(|last| last["outcome"] == "Interrupted" && last.get("endedAt").is_none())
}

/// Its state in a word or two: waiting for a process is not the same as running.
#[must_use]
pub fn short_state(invocation: &Value) -> String {
    let state = member(invocation, "state");
    match state.as_str() {
        _ if is_missing(invocation) => format!("{state} (function removed)"),
        "Accepted" if is_interrupted(invocation) => format!("{state} (interrupted)"),
        "Accepted" => format!("{state} (waiting for a slot)"),
        _ => state,
    }
}

/// `Exhausted (RetriesExhausted): no retry is left`
#[must_use]
pub fn state(invocation: &Value) -> String {
    let (state, reason) = (member(invocation, "state"), member(invocation, "reason"));
    let why = match reason.as_str() {
        "" if is_missing(invocation) => {
            let function = member(invocation, "function");
            return format!("{state}: the function `{function}` no longer exists");
        }
        "" if state == "Accepted" && is_interrupted(invocation) => {
            return format!(
                "{state}: interrupted by a crash of the server, waiting to be repeated"
            );
        }
        "" if state == "Accepted" => return format!("{state}: waiting for a slot of the function"),
        "" => return state,
        "RetriesExhausted" => "no retry is left",
        "EventAgeExceeded" => "the event is too old for another attempt",
        "NonRetryable" => "the error is not retryable",
        "Unparseable" => "the event is not JSON",
        "InterruptionsExhausted" => "crashes of the server interrupted it too often",
        "ZeroReservedConcurrency" => "the function's concurrency is 0",
        "LoopDetected" => "its destinations form a loop",
        _ => return format!("{state} ({reason})"),
    };
    format!("{state} ({reason}): {why}")
}

/// `queue orders, message 17, delivery 3`
#[must_use]
pub fn source(source: &Value) -> String {
    let mut text = format!("{} {}", member(source, "kind"), member(source, "name"));
    let members = [
        ("message", "messageId"),
        ("partition", "partition"),
        ("offset", "offset"),
        ("delivery", "deliveryCount"),
        ("depth", "depth"),
    ];
    for (word, member) in members {
        match &source[member] {
            Value::Null => {}
            Value::String(value) => text += &format!(", {word} {value}"),
            other => text += &format!(", {word} {other}"),
        }
    }
    text
}

/// A paragraph for each attempt that is kept, and a line for those that are not.
fn attempts(invocation: &Value) -> Vec<(String, String)> {
    let (mut all, mut before) = (Vec::new(), 0);
    for attempt in invocation["attempts"].as_array().into_iter().flatten() {
        let n = attempt["n"].as_u64().unwrap_or(before + 1);
        if n > before + 1 {
            let missing = usize::try_from(n - before - 1).unwrap_or(usize::MAX);
            all.push(("…".to_owned(), format!("{} not recorded", count(missing, "attempt"))));
        }
        all.push((format!("Attempt {n}"), describe_attempt(attempt)));
        before = n;
    }
    all
}

fn describe_attempt(attempt: &Value) -> String {
    let outcome = match member(attempt, "outcome").as_str() {
        "Running" => "running".to_owned(),
        "Interrupted" if attempt.get("endedAt").is_none() => {
            "interrupted, to be repeated".to_owned()
        }
        outcome => {
            let took = took(attempt, "startedAt").map(words::measured).unwrap_or_default();
            format!("{} after {took}", outcome.to_lowercase())
        }
    };
    let mut lines = vec![format!("{}, {outcome}", moment(&attempt["startedAt"]))];
    if let Some(times) = attempt["interruptions"].as_u64() {
        lines.push(format!("interrupted {} by a crash of the server", words::times(times)));
    }
    if attempt.get("errorType").is_some() {
        lines.push(failure::head(attempt));
        lines.extend(failure::stack(attempt));
    }
    let log = failure::log(attempt);
    if !log.is_empty() {
        lines.push("output:".to_owned());
        lines.extend(log.iter().map(|line| format!("  {line}")));
    }
    if let Some(delay) = attempt["nextDelayMs"].as_i64() {
        lines.push(format!("retried after {}", words::span(delay)));
    }
    lines.join("\n")
}

/// The destinations that have not been notified yet.
#[must_use]
pub fn undelivered(invocation: &Value) -> Vec<String> {
    let all = invocation["destinations"].as_array().into_iter().flatten();
    let undelivered = all.filter(|destination| destination["delivered"] == false);
    undelivered.map(|destination| member(destination, "target")).collect()
}

fn destinations(invocation: &Value) -> String {
    let all = invocation["destinations"].as_array().into_iter().flatten();
    all.map(destination).collect::<Vec<_>>().join("\n")
}

/// `function:audit (notified)`
#[must_use]
pub fn destination(destination: &Value) -> String {
    let target = member(destination, "target");
    let follows = destination["kind"] == "next";
    let Some(delivered) = destination["delivered"].as_bool() else {
        let on = member(destination, "on").to_lowercase();
        let what = if follows { "runs next" } else { "is notified" };
        return format!("{target} ({what} on {on})");
    };
    let state = match (follows, delivered) {
        (true, true) => "started",
        (true, false) => "runs next",
        (false, true) => "notified",
        (false, false) => "not notified yet, delivery is being retried",
    };
    format!("{target} ({state})")
}

/// Its status and its steps.
fn describe_session(session: &Value) -> String {
    let head = match member(session, "status").as_str() {
        "" => return String::new(),
        "FAILED" => {
            let [error, function] = ["error", "failedFunction"].map(|part| member(session, part));
            format!("FAILED: {error} in {function}")
        }
        status => status.to_owned(),
    };
    let step = |step: &Value| {
        let [function, id] = ["function", "invocationId"].map(|part| member(step, part));
        let ended = if step["ended"] == true { "ended" } else { "running" };
        format!("{function} ({id}): {ended}")
    };
    let steps = session["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (first, left_out, last) = bounded(steps);
    let mut lines = vec![head];
    lines.extend(first.iter().map(step));
    if left_out > 0 {
        lines.push(format!("… {} not shown", count(left_out, "step")));
    }
    lines.extend(last.iter().map(step));
    lines.join("\n")
}

/// How many steps of a session are shown from its beginning, and from its end.
const STEPS_FIRST: usize = 5;
const STEPS_LAST: usize = 15;

fn bounded(steps: &[Value]) -> (&[Value], usize, &[Value]) {
    match steps.len().checked_sub(STEPS_FIRST + STEPS_LAST) {
        Some(left_out) if left_out > 1 => {
            (&steps[..STEPS_FIRST], left_out, &steps[STEPS_FIRST + left_out..])
        }
        _ => (steps, 0, &[]),
    }
}

/// What happens next, and what a user can do.
#[must_use]
pub fn next(invocation: &Value, now_ms: i64) -> String {
    let started = invocation["attemptCount"].as_u64().unwrap_or_default();
    let id = member(invocation, "invocationId");
    if is_missing(invocation) {
        let function = member(invocation, "function");
        return format!(
            "waits until everstep.yaml has a function `{function}` again; to cancel it, run `everstep invocations cancel {id}`"
        );
    }
    match invocation["state"].as_str().unwrap_or_default() {
        "Accepted" => {
            let n = started + u64::from(!is_interrupted(invocation));
            format!("attempt {n} starts as soon as a process of the function is free")
        }
        "Running" => {
            let since = invocation["attempts"].as_array().and_then(|attempts| attempts.last());
            let since = since.and_then(|attempt| millis(&attempt["startedAt"]));
            let running = words::duration(now_ms - since.unwrap_or(now_ms));
            format!(
                "attempt {started} has been running for {running}; {}",
                left(invocation, started)
            )
        }
        "Waiting" => {
            let due = &invocation["dueAt"];
            let wait = words::duration(millis(due).unwrap_or(now_ms) - now_ms);
            let (n, due) = (started + 1, moment(due));
            format!("attempt {n} starts in {wait}, at {due}; {}", left(invocation, n))
        }
        _ if invocation["deadLetter"] == true => failure::remedy(invocation),
        _ => match member(invocation, "redrivenAs") {
            into if into.is_empty() => String::new(),
            into => format!("redriven: `everstep invocations show {into}`"),
        },
    }
}

/// What follows if the attempt of this number fails.
fn left(invocation: &Value, attempt: u64) -> String {
    let Ok(policy) = serde_json::from_value::<Policy>(invocation["policy"].clone()) else {
        return "its retry policy cannot be read".to_owned();
    };
    let Some(most) = policy.retries_max() else {
        return "retried without limit if it fails".to_owned();
    };
    match (u64::from(most) + 1).saturating_sub(attempt) {
        0 => "this is the last attempt".to_owned(),
        left => format!("{} left if it fails", retries(left)),
    }
}

/// `1 retry`, `2 retries`
fn retries(number: u64) -> String {
    if number == 1 { "1 retry".to_owned() } else { format!("{number} retries") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(change: &Value, expected: &str) {
        let mut invocation = json!({
            "invocationId": "i", "function": "f", "version": "1", "source": { "kind": "timer", "name": "t" },
            "acceptedAt": "2026-11-16T09:30:00.000Z", "attemptCount": 1, "attempts": [],
            "policy": { "rules": [{
                "errors": ["Error.ALL"], "retriesMax": 2, "delay": { "fixed": { "ms": 0 } }
            }], "nonRetryable": [] },
        });
        for (name, value) in change.as_object().unwrap() {
            invocation[name] = value.clone();
        }
        let text = describe(&invocation, &change["session"], 1_794_821_405_000, 100);
        let text = text.split_once("Accepted    2026-11-16 09:30:00Z\n").unwrap().1;
        assert_eq!(text, expected, "{change}");
    }

    #[test]
    fn what_happens_next() {
        check(
            &json!({ "state": "Accepted", "attemptCount": 0 }),
            "\nNext        attempt 1 starts as soon as a process of the function is free\n",
        );
        let cut = json!({
            "n": 1, "startedAt": "2026-11-16T09:30:01.000Z", "outcome": "Interrupted",
            "interruptions": 2,
        });
        check(
            &json!({ "state": "Accepted", "attempts": [cut] }),
            "\nAttempt 1   2026-11-16 09:30:01Z, interrupted, to be repeated\n            \
             interrupted twice by a crash of the server\n\
             \nNext        attempt 1 starts as soon as a process of the function is free\n",
        );
        check(
            &json!({ "state": "Waiting", "dueAt": "2026-11-16T09:30:09.000Z" }),
            "\nNext        attempt 2 starts in 4.0 s, at 2026-11-16 09:30:09Z; 1 retry left if it fails\n",
        );
        let running =
            json!({ "n": 3, "startedAt": "2026-11-16T09:30:01.000Z", "outcome": "Running" });
        check(
            &json!({ "state": "Running", "attemptCount": 3, "attempts": [running] }),
            "\n…           2 attempts not recorded\n\
             Attempt 3   2026-11-16 09:30:01Z, running\n\
             \nNext        attempt 3 has been running for 4.0 s; this is the last attempt\n",
        );
        check(
            &json!({ "state": "Waiting", "functionMissing": true, "throttledCount": 3 }),
            "\nNext        waits until everstep.yaml has a function `f` again; to cancel it, run `everstep invocations cancel i`\n",
        );
        check(
            &json!({ "state": "Exhausted", "redrivenAs": "j" }),
            "Redriven as j\n\nNext        redriven: `everstep invocations show j`\n",
        );
    }

    #[test]
    fn the_session() {
        let step =
            |function, ended| json!({ "function": function, "invocationId": "i", "ended": ended });
        check(
            &json!({ "state": "Succeeded", "session": {
                "status": "RUNNING", "steps": [step("f", true), step("g", false)],
            } }),
            "\nSession     RUNNING\n            f (i): ended\n            g (i): running\n",
        );
        check(
            &json!({ "state": "Succeeded", "session": {
                "status": "FAILED", "error": "E", "cause": "no", "failedFunction": "g", "steps": [],
            } }),
            "\nSession     FAILED: E in g\n",
        );
    }

    #[test]
    fn long_sessions_are_bounded() {
        let check = |steps: usize, expected: (usize, usize, usize)| {
            let steps = vec![Value::Null; steps];
            let (first, left_out, last) = bounded(&steps);
            assert_eq!((first.len(), left_out, last.len()), expected);
        };
        check(3, (3, 0, 0));
        check(21, (21, 0, 0));
        check(22, (5, 2, 15));
        check(1000, (5, 980, 15));
    }

    #[test]
    fn the_output_of_an_attempt() {
        let attempt = json!({
            "n": 1000, "startedAt": "2026-11-16T09:30:01.000Z", "endedAt": "2026-11-16T09:30:01.000Z",
            "outcome": "Failed", "errorType": "E", "errorMessage": "no", "log": ["[ERROR] E\rat app.py", "done"],
        });
        check(
            &json!({ "state": "Exhausted", "attempts": [attempt] }),
            "\n…            999 attempts not recorded\n\
             Attempt 1000 2026-11-16 09:30:01Z, failed after 0 ms\n             E: no\n             \
             output:\n               [ERROR] E\n               at app.py\n               done\n",
        );
    }

    #[test]
    fn destinations_and_successors() {
        let to = |on: &str, kind: &str| json!({ "on": on, "kind": kind, "target": "function:g" });
        check(
            &json!({ "state": "Cancelled", "destinations": [to("Success", "destination"), to("Failure", "next")] }),
            "\nDestination function:g (is notified on success)\n            \
             function:g (runs next on failure)\n",
        );
    }
}
