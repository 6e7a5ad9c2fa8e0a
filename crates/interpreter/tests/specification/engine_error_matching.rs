//! Every error name against every pattern, in both dialects, at the state that fails and at the one around it:
//! what the engine does is what the table says and what `handling` answers when it is asked.

use everstep_asl::error_name::{
    ALL, BRANCH_FAILED, DATA_LIMIT_EXCEEDED, HEARTBEAT_TIMEOUT, LAMBDA_UNKNOWN, PREDEFINED,
    RUNTIME, TASK_FAILED, TIMEOUT,
};
use everstep_asl::handling::{self, Mismatch, Origin, Raised};
use everstep_asl::model::State;
use everstep_interpreter::{Dialect, Limits};
use serde_json::{Value, json};

use crate::world::*;

const EXIT: &str = "Runtime.ExitError";
const CUSTOM: &str = "OutOfStock";
const PAYLOAD_BYTES: usize = 300;

/// Where the catcher is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Task,
    Parallel,
    Map,
}

const PLACES: [Place; 3] = [Place::Task, Place::Parallel, Place::Map];

/// How a task fails, and what the matcher receives.
#[derive(Debug, Clone)]
struct Case {
    outcome: Outcome,
    raised: Raised<'static>,
}

fn patterns() -> impl Iterator<Item = &'static str> {
    PREDEFINED.iter().copied().chain([LAMBDA_UNKNOWN, EXIT, CUSTOM])
}

fn reported(name: &'static str) -> Case {
    Case { outcome: error(name), raised: Raised::named(name) }
}

/// A definition in which the task `X` fails and a catcher for `pattern` stands at a place.
fn definition(place: Place, pattern: &str, handler: &str) -> Value {
    let handler = match handler {
        "Catch" => json!({ "Catch": [{ "ErrorEquals": [pattern], "Next": "Y" }] }),
        _ => {
            json!({ "Retry": [{ "ErrorEquals": [pattern], "IntervalSeconds": 1, "MaxAttempts": 1 }] })
        }
    };
    let failing = json!({ "TimeoutSeconds": 9, "HeartbeatSeconds": 3 });
    let with = |mut fields: Value, more: &Value| {
        for (name, value) in more.as_object().expect("fields") {
            fields[name] = value.clone();
        }
        fields
    };
    let inner = machine(json!({ "X": task(failing.clone()) }));
    let outer = match place {
        Place::Task => task(with(failing, &handler)),
        Place::Parallel => parallel(json!([inner]), handler),
        Place::Map => map(inner, with(json!({ "ItemsPath": "$.items" }), &handler)),
    };
    let name = if place == Place::Task { "X" } else { "Around" };
    let mut states = json!({ name: outer });
    states["Y"] = json!({ "Type": "Succeed" });
    json!({ "StartAt": name, "States": states })
}

fn run(case: &Case, dialect: Dialect, definition: Value) -> Run {
    let world = world(definition)
        .input(json!({ "items": [1] }))
        .limits(Limits { payload_bytes: PAYLOAD_BYTES, ..Limits::default() })
        .task("X", [case.outcome.clone(), case.outcome.clone()]);
    if dialect == Dialect::Aws { world.aws().run() } else { world.run() }
}

fn with_state<T>(definition: &Value, ask: impl FnOnce(&State) -> T) -> T {
    ask(&compile(definition).states[0])
}

/// Exactly the `expected` patterns take the error.
fn check(case: &Case, dialect: Dialect, place: Place, expected: &[&str]) {
    let raised = if place == Place::Task { case.raised } else { case.raised.outside() };
    for pattern in patterns() {
        let expected = expected.contains(&pattern);
        let about = format!("{case:?} {dialect:?} {place:?} {pattern}");
        let catching = definition(place, pattern, "Catch");
        let asked = with_state(&catching, |state| {
            handling::catcher(state, raised, dialect).map(|found| found.pattern.to_owned())
        });
        assert_eq!(asked, expected.then(|| pattern.to_owned()), "asked: {about}");
        let caught = run(case, dialect, catching).path().contains(&"Y".to_owned());
        assert_eq!(caught, expected, "caught: {about}");
        let retrying = definition(place, pattern, "Retry");
        let asked =
            with_state(&retrying, |state| handling::retrier(state, raised, dialect).is_some());
        assert_eq!(asked, expected, "asked for a retrier: {about}");
        let retried = run(case, dialect, retrying).calls.len() == 2;
        assert_eq!(retried, expected, "retried: {about}");
    }
}

/// The same patterns everywhere, and `States.BranchFailed` where it means anything.
fn check_everywhere(case: &Case, expected: &[&str]) {
    for dialect in Dialect::EACH {
        for place in PLACES {
            let of_branch = place == Place::Parallel && dialect == Dialect::Spec;
            let more = (of_branch && case.raised.name != RUNTIME).then_some(BRANCH_FAILED);
            let expected: Vec<&str> = expected.iter().copied().chain(more).collect();
            check(case, dialect, place, &expected);
        }
    }
}

#[test]
fn every_reserved_name_that_a_task_reports() {
    let special = [TIMEOUT, HEARTBEAT_TIMEOUT, DATA_LIMIT_EXCEEDED, RUNTIME];
    for name in PREDEFINED.iter().copied().filter(|name| !special.contains(name)) {
        check_everywhere(&reported(name), &[ALL, TASK_FAILED, name]);
    }
    check_everywhere(&reported(CUSTOM), &[ALL, TASK_FAILED, CUSTOM]);
    check_everywhere(&reported(LAMBDA_UNKNOWN), &[ALL, TASK_FAILED, LAMBDA_UNKNOWN]);
    check_everywhere(&reported(TIMEOUT), &[ALL, TIMEOUT]);
    check_everywhere(&reported(HEARTBEAT_TIMEOUT), &[ALL, TIMEOUT, HEARTBEAT_TIMEOUT]);
    check_everywhere(&reported(RUNTIME), &[]);
}

#[test]
fn a_missed_heartbeat() {
    let raised = Raised { name: TIMEOUT, origin: Origin::MissedHeartbeat };
    let case = Case { outcome: Outcome::Hangs, raised };
    check_everywhere(&case, &[ALL, TIMEOUT, HEARTBEAT_TIMEOUT]);
}

#[test]
fn a_timeout() {
    // Heartbeats until the deadline.
    let case = Case { outcome: beats(2, 4, Outcome::Hangs), raised: Raised::named(TIMEOUT) };
    check_everywhere(&case, &[ALL, TIMEOUT]);
}

#[test]
fn a_crash() {
    for dialect in Dialect::EACH {
        let raised = Raised { name: dialect.crashed_function(EXIT), origin: Origin::Crash(EXIT) };
        let case = Case { outcome: error(EXIT), raised };
        let expected = [ALL, TASK_FAILED, LAMBDA_UNKNOWN, EXIT];
        check(&case, dialect, Place::Task, &expected);
        check(&case, dialect, Place::Map, &expected);
    }
}

/// A wildcard takes it only in the dialect of the service, and only at the task itself.
#[test]
fn a_result_that_is_too_large() {
    let raised = Raised { name: DATA_LIMIT_EXCEEDED, origin: Origin::OversizedResult };
    for outcome in [ok(json!("x".repeat(PAYLOAD_BYTES))), error(DATA_LIMIT_EXCEEDED)] {
        let case = Case { outcome, raised };
        check(&case, Dialect::Spec, Place::Task, &[DATA_LIMIT_EXCEEDED]);
        check(&case, Dialect::Spec, Place::Parallel, &[DATA_LIMIT_EXCEEDED, BRANCH_FAILED]);
        check(&case, Dialect::Spec, Place::Map, &[DATA_LIMIT_EXCEEDED]);
        check(&case, Dialect::Aws, Place::Task, &[ALL, DATA_LIMIT_EXCEEDED]);
        check(&case, Dialect::Aws, Place::Parallel, &[DATA_LIMIT_EXCEEDED]);
        check(&case, Dialect::Aws, Place::Map, &[DATA_LIMIT_EXCEEDED]);
    }
}

/// What a state makes itself and cannot hold ends the execution, wherever it is.
#[test]
fn an_output_that_is_too_large() {
    let raised = Raised { name: DATA_LIMIT_EXCEEDED, origin: Origin::Fatal };
    let branch = machine(json!({ "X": pass(json!({ "Result": "x".repeat(PAYLOAD_BYTES) })) }));
    for pattern in [ALL, DATA_LIMIT_EXCEEDED, BRANCH_FAILED] {
        let handler = json!({ "Catch": [{ "ErrorEquals": [pattern], "Next": "Y" }] });
        let definition = machine(json!({
            "P": parallel(json!([branch]), handler), "Y": { "Type": "Succeed" }
        }));
        for dialect in Dialect::EACH {
            let case = Case { outcome: Outcome::Hangs, raised };
            let ended = run(&case, dialect, definition.clone());
            assert_eq!(ended.error(), DATA_LIMIT_EXCEEDED, "{pattern} {dialect:?}");
            let found = with_state(&definition, |state| {
                handling::catcher(state, raised.outside(), dialect).is_some()
            });
            assert!(!found, "{pattern} {dialect:?}");
        }
    }
}

/// Why a handler does not match.
#[test]
fn mismatches_have_reasons() {
    let check = |patterns: &[&str], raised: Raised<'_>, expected: Mismatch<'_>| {
        let patterns: Vec<String> = patterns.iter().map(|name| (*name).to_owned()).collect();
        let definition = machine(json!({ "X": task(json!({})) }));
        with_state(&definition, |state| {
            let found = handling::matching(&patterns, state, raised, Dialect::Spec);
            assert_eq!(found, Err(expected), "{patterns:?} {raised:?}");
        });
    };
    check(&["A", "B"], Raised::named(CUSTOM), Mismatch::Name);
    check(&[BRANCH_FAILED], Raised::named(CUSTOM), Mismatch::Name);
    check(&[ALL], Raised::named(DATA_LIMIT_EXCEEDED), Mismatch::Wildcard(ALL));
    check(&["A", TASK_FAILED], Raised::named(TIMEOUT), Mismatch::Wildcard(TASK_FAILED));
    check(&[ALL], Raised::named(RUNTIME), Mismatch::Fatal);
    let fatal = Raised { name: CUSTOM, origin: Origin::Fatal };
    check(&[CUSTOM], fatal, Mismatch::Fatal);
}
