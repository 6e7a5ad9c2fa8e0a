//! An invocation of a function in words: what is known of it, every attempt, who is told of its end, and
//! what happens next.

use everstep_retry::Policy;
use serde_json::{Value, json};

use super::{Api, failure, shown};
use crate::output::{Stream, count};
use everstep_source::words;

/// One invocation with its event and its answer, as the server has it.
pub(crate) fn fetch(api: &Api, id: &str) -> anyhow::Result<Value> {
    api.operate("ShowInvocation", &json!({ "id": id }))
}

/// The session that an invocation is a step of, if it is one.
pub(crate) fn fetch_session(api: &Api, invocation: &Value) -> anyhow::Result<Value> {
    match &invocation["sessionId"] {
        Value::Null => Ok(Value::Null),
        id => api.operate("DescribeSession", &json!({ "id": id })),
    }
}

/// All there is to say of it.
pub(crate) fn told(invocation: &Value, session: &Value, now_ms: i64) -> String {
    let facts = |facts: Vec<(String, String)>| {
        let facts: Vec<_> = facts.iter().map(|(name, text)| (&**name, text.clone())).collect();
        shown::facts(&facts)
    };
    let end = vec![
        ("Session".to_owned(), session_told(session)),
        ("Goes to".to_owned(), destinations(invocation)),
        ("Next".to_owned(), next(invocation, now_ms)),
    ];
    let parts = [shown::facts(&head(invocation)), facts(attempts(invocation)), facts(end)];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn head(invocation: &Value) -> Vec<(&'static str, String)> {
    let text = |member| shown::text(invocation, member);
    let moment = |member: &str| shown::moment(&invocation[member]);
    let room = Stream::Data.width().saturating_sub(12);
    let payload = |member: &str| match &invocation[member] {
        Value::Null => String::new(),
        payload => shown::payload(&payload.to_string(), room),
    };
    let throttled = invocation["throttledCount"].as_u64();
    // What is not there has no slots that could be taken.
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
        // A failure's is told by its attempts.
        ("Response", if succeeded { payload("response") } else { String::new() }),
    ]
}

fn took(record: &Value, from: &str) -> Option<i64> {
    Some(shown::millis(&record["endedAt"])? - shown::millis(&record[from])?)
}

/// Its function is not configured any more.
pub(crate) fn is_missing(invocation: &Value) -> bool {
    invocation["functionMissing"] == true
}

/// `Exhausted (RetriesExhausted): no retry is left`
pub(super) fn state(invocation: &Value) -> String {
    let (state, reason) = (shown::text(invocation, "state"), shown::text(invocation, "reason"));
    let why = match reason.as_str() {
        "" if is_missing(invocation) => {
            let function = shown::text(invocation, "function");
            return format!("{state}: there is no function `{function}` now");
        }
        "" => return state,
        "RetriesExhausted" => "no retry is left",
        "EventAgeExceeded" => "the event would be too old for another attempt",
        "NonRetryable" => "an error like this is never tried again",
        "Unparseable" => "the event is not JSON",
        "InterruptionsExhausted" => "it was interrupted too often",
        "ZeroReservedConcurrency" => "the function's concurrency is 0",
        "LoopDetected" => "too many destinations have led to it",
        _ => return format!("{state} ({reason})"),
    };
    format!("{state} ({reason}): {why}")
}

/// `queue orders, message 17, delivery 3`
fn source(source: &Value) -> String {
    let mut text = format!("{} {}", shown::text(source, "kind"), shown::text(source, "name"));
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

/// A paragraph for each that is kept, and a line where some are not.
fn attempts(invocation: &Value) -> Vec<(String, String)> {
    let (mut told, mut before) = (Vec::new(), 0);
    for attempt in invocation["attempts"].as_array().into_iter().flatten() {
        let n = attempt["n"].as_u64().unwrap_or(before + 1);
        if n > before + 1 {
            let missing = usize::try_from(n - before - 1).unwrap_or(usize::MAX);
            told.push(("…".to_owned(), format!("{}, only counted", count(missing, "attempt"))));
        }
        told.push((format!("Attempt {n}"), attempt_told(attempt)));
        before = n;
    }
    told
}

fn attempt_told(attempt: &Value) -> String {
    let outcome = match shown::text(attempt, "outcome").as_str() {
        "Running" => "running".to_owned(),
        outcome => {
            let took = took(attempt, "startedAt").map(words::measured).unwrap_or_default();
            format!("{} after {took}", outcome.to_lowercase())
        }
    };
    let mut lines = vec![format!("{}, {outcome}", shown::moment(&attempt["startedAt"]))];
    if attempt.get("errorType").is_some() {
        lines.push(failure::head(attempt));
        lines.extend(failure::stack(attempt));
    }
    let log = failure::log(attempt);
    if !log.is_empty() {
        lines.push("it wrote:".to_owned());
        lines.extend(log.iter().map(|line| format!("  {line}")));
    }
    if let Some(delay) = attempt["nextDelayMs"].as_i64() {
        lines.push(format!("the next attempt {} later", words::span(delay)));
    }
    lines.join("\n")
}

/// Those that its record has not reached yet.
pub(crate) fn untold(invocation: &Value) -> Vec<String> {
    let all = invocation["destinations"].as_array().into_iter().flatten();
    let untold = all.filter(|destination| destination["delivered"] == false);
    untold.map(|destination| shown::text(destination, "target")).collect()
}

fn destinations(invocation: &Value) -> String {
    let all = invocation["destinations"].as_array().into_iter().flatten();
    all.map(destination).collect::<Vec<_>>().join("\n")
}

fn destination(destination: &Value) -> String {
    let target = shown::text(destination, "target");
    let follows = destination["kind"] == "next";
    let Some(delivered) = destination["delivered"].as_bool() else {
        let on = shown::text(destination, "on").to_lowercase();
        let what = if follows { "follows" } else { "is told" };
        return format!("{target}, which {what} on {on}");
    };
    match (follows, delivered) {
        (true, true) => format!("{target}, which follows"),
        (true, false) => format!("{target}, which will follow"),
        (false, true) => format!("{target}, which has been told"),
        (false, false) => match target.strip_prefix("queue:") {
            Some(_) => format!("{target}, which has not been told: queues are not served yet"),
            None => {
                format!("{target}, which has not been told yet: that is tried until it is done")
            }
        },
    }
}

/// How it stands, and its steps.
fn session_told(session: &Value) -> String {
    let head = match shown::text(session, "status").as_str() {
        "" => return String::new(),
        "FAILED" => {
            let [error, function] =
                ["error", "failedFunction"].map(|part| shown::text(session, part));
            format!("FAILED: {error} of {function}")
        }
        status => status.to_owned(),
    };
    let step = |step: &Value| {
        let [function, id] = ["function", "invocationId"].map(|part| shown::text(step, part));
        let ended = if step["ended"] == true { "has ended" } else { "has not ended" };
        format!("{function} ({id}) {ended}")
    };
    let steps = session["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    let (first, left_out, last) = bounded(steps);
    let mut lines = vec![head];
    lines.extend(first.iter().map(step));
    if left_out > 0 {
        lines.push(format!("… {}, left out here", count(left_out, "step")));
    }
    lines.extend(last.iter().map(step));
    lines.join("\n")
}

/// How many steps of a session are told from its beginning, and from its end.
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

/// What will happen, and what can be done about it.
fn next(invocation: &Value, now_ms: i64) -> String {
    let started = invocation["attemptCount"].as_u64().unwrap_or_default();
    let id = shown::text(invocation, "invocationId");
    if is_missing(invocation) {
        let function = shown::text(invocation, "function");
        return format!(
            "it waits until everstep.yaml has a function `{function}` again; `everstep invocations cancel {id}` ends it"
        );
    }
    match invocation["state"].as_str().unwrap_or_default() {
        "Accepted" => "it runs as soon as the function has a slot".to_owned(),
        "Running" => {
            let since = invocation["attempts"].as_array().and_then(|attempts| attempts.last());
            let since = since.and_then(|attempt| shown::millis(&attempt["startedAt"]));
            let running = words::duration(now_ms - since.unwrap_or(now_ms));
            format!("attempt {started} has run for {running}; {}", left(invocation, started))
        }
        "Waiting" => {
            let due = &invocation["dueAt"];
            let wait = words::duration(shown::millis(due).unwrap_or(now_ms) - now_ms);
            let (n, due) = (started + 1, shown::moment(due));
            format!("attempt {n} begins at {due}, in {wait}; {}", left(invocation, n))
        }
        _ if invocation["deadLetter"] == true => failure::remedy(invocation),
        _ => match shown::text(invocation, "redrivenAs") {
            into if into.is_empty() => String::new(),
            into => format!("it was sent back: `everstep invocations show {into}`"),
        },
    }
}

/// What may follow the attempt of this number.
fn left(invocation: &Value, attempt: u64) -> String {
    let Ok(policy) = serde_json::from_value::<Policy>(invocation["policy"].clone()) else {
        return "its policy is not understood here".to_owned();
    };
    let Some(most) = policy.retries_max() else {
        return "if it fails, it is tried again without end".to_owned();
    };
    match (u64::from(most) + 1).saturating_sub(attempt) {
        0 => "it is the last one".to_owned(),
        left => format!("if it fails, it is tried again {} at most", words::times(left)),
    }
}

#[cfg(test)]
mod tests {
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
        let told = told(&invocation, &change["session"], 1_794_821_405_000);
        let told = told.split_once("Accepted    2026-11-16 09:30:00Z\n").unwrap().1;
        assert_eq!(told, expected, "{change}");
    }

    #[test]
    fn what_happens_next() {
        check(
            &json!({ "state": "Accepted" }),
            "\nNext        it runs as soon as the function has a slot\n",
        );
        check(
            &json!({ "state": "Waiting", "dueAt": "2026-11-16T09:30:09.000Z" }),
            "\nNext        attempt 2 begins at 2026-11-16 09:30:09Z, in 4.0 s; if it fails, it is tried again \
             once at most\n",
        );
        let running =
            json!({ "n": 3, "startedAt": "2026-11-16T09:30:01.000Z", "outcome": "Running" });
        check(
            &json!({ "state": "Running", "attemptCount": 3, "attempts": [running] }),
            "\n…           2 attempts, only counted\n\
             Attempt 3   2026-11-16 09:30:01Z, running\n\
             \nNext        attempt 3 has run for 4.0 s; it is the last one\n",
        );
        check(
            &json!({ "state": "Waiting", "functionMissing": true, "throttledCount": 3 }),
            "\nNext        it waits until everstep.yaml has a function `f` again; `everstep invocations cancel i` ends it\n",
        );
        check(
            &json!({ "state": "Exhausted", "redrivenAs": "j" }),
            "Redriven as j\n\nNext        it was sent back: `everstep invocations show j`\n",
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
            "\nSession     RUNNING\n            f (i) has ended\n            g (i) has not ended\n",
        );
        check(
            &json!({ "state": "Succeeded", "session": {
                "status": "FAILED", "error": "E", "cause": "no", "failedFunction": "g", "steps": [],
            } }),
            "\nSession     FAILED: E of g\n",
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
    fn what_an_attempt_wrote() {
        let attempt = json!({
            "n": 1000, "startedAt": "2026-11-16T09:30:01.000Z", "endedAt": "2026-11-16T09:30:01.000Z",
            "outcome": "Failed", "errorType": "E", "errorMessage": "no", "log": ["[ERROR] E\rat app.py", "done"],
        });
        check(
            &json!({ "state": "Exhausted", "attempts": [attempt] }),
            "\n…            999 attempts, only counted\n\
             Attempt 1000 2026-11-16 09:30:01Z, failed after 0 ms\n             E: no\n             \
             it wrote:\n               [ERROR] E\n               at app.py\n               done\n",
        );
    }

    #[test]
    fn who_is_told() {
        let to = |on: &str, kind: &str| json!({ "on": on, "kind": kind, "target": "function:g" });
        check(
            &json!({ "state": "Cancelled", "destinations": [to("Success", "destination"), to("Failure", "next")] }),
            "\nGoes to     function:g, which is told on success\n            \
             function:g, which follows on failure\n",
        );
    }
}
