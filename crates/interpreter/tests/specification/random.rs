//! Random definitions of all state types, nested, and random things that happen to them.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::world::{fail, map, parallel, pass, task};

#[derive(Debug, Clone)]
pub(crate) enum Body {
    Pass(u8),
    Task { settings: u8, handling: u8 },
    Wait(u8),
    Choice(u8),
    Succeed,
    Fail,
    Parallel { branches: Vec<Vec<Body>>, handling: u8 },
    Map { states: Vec<Body>, settings: u8, handling: u8 },
}

/// What happens next; numbers are taken modulo what there is.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Succeed(u8),
    Fail(u8, u8),
    Start(u8),
    Beat(u8),
    /// Something is said of an attempt that is over.
    Stale(u8),
    /// Time passes, by so many seconds.
    Time(u8),
    /// Time passes, exactly until something is due.
    Due,
    Crash,
    Stop,
    Redrive,
}

pub(crate) fn bodies() -> impl Strategy<Value = Vec<Body>> {
    let leaf = prop_oneof![
        3 => any::<u8>().prop_map(Body::Pass),
        6 => any::<(u8, u8)>().prop_map(|(settings, handling)| Body::Task { settings, handling }),
        2 => (0..5u8).prop_map(Body::Wait),
        2 => any::<u8>().prop_map(Body::Choice),
        1 => Just(Body::Succeed),
        1 => Just(Body::Fail),
    ];
    let body = leaf.prop_recursive(3, 16, 3, |inner| {
        let states = || prop::collection::vec(inner.clone(), 1..3);
        let branches = prop::collection::vec(states(), 1..4);
        prop_oneof![
            (branches, any::<u8>())
                .prop_map(|(branches, handling)| Body::Parallel { branches, handling }),
            (states(), any::<u8>(), any::<u8>())
                .prop_map(|(states, settings, handling)| Body::Map { states, settings, handling }),
        ]
    });
    prop::collection::vec(body, 1..5)
}

pub(crate) fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        10 => any::<u8>().prop_map(Step::Succeed),
        6 => any::<(u8, u8)>().prop_map(|(which, error)| Step::Fail(which, error)),
        2 => any::<u8>().prop_map(Step::Start),
        2 => any::<u8>().prop_map(Step::Beat),
        2 => any::<u8>().prop_map(Step::Stale),
        3 => (0..70u8).prop_map(Step::Time),
        6 => Just(Step::Due),
        2 => Just(Step::Crash),
        1 => Just(Step::Stop),
        3 => Just(Step::Redrive),
    ];
    prop::collection::vec(step, 0..50)
}

pub(crate) const ERRORS: [&str; 6] = [
    "A",
    "B",
    "States.Timeout",
    "States.Runtime",
    "States.DataLimitExceeded",
    "States.Permissions",
];

/// A definition; every state of it has a name of its own.
pub(crate) fn definition(bodies: &[Body]) -> Value {
    scope(bodies, &mut 0)
}

fn scope(bodies: &[Body], names: &mut u32) -> Value {
    let own: Vec<String> = (0..=bodies.len())
        .map(|_| {
            *names += 1;
            format!("S{names}")
        })
        .collect();
    let mut states = json!({});
    for (at, body) in bodies.iter().enumerate() {
        let last = &own[bodies.len()];
        states[&own[at]] = state(body, &own[at + 1], last, names);
    }
    states[&own[bodies.len()]] = json!({ "Type": "Succeed" });
    json!({ "StartAt": own[0], "States": states })
}

fn state(body: &Body, next: &str, last: &str, names: &mut u32) -> Value {
    let mut state = match body {
        Body::Pass(kind) => pass(match kind % 8 {
            0 => json!({ "Parameters": { "a.$": "$.missing" } }),
            1 => json!({ "InputPath": "$.missing" }),
            2 => json!({ "Assign": { "v.$": "$.list", "w": kind } }),
            3 => json!({ "Parameters": { "x.$": "States.StringToJson('{')" } }),
            _ => json!({ "Result": kind, "ResultPath": "$.r" }),
        }),
        Body::Task { settings, handling } => {
            let mut fields = json!({ "ResultPath": "$.r" });
            if settings & 1 > 0 {
                fields["TimeoutSeconds"] = json!(5 + settings % 7);
            }
            if settings & 3 == 3 {
                fields["HeartbeatSeconds"] = json!(1 + settings % 4);
            }
            if settings & 12 == 12 {
                fields["Parameters"] =
                    json!({ "c.$": "$$.State.Name", "t.$": "$$.Execution.Input" });
            }
            handled(&mut fields, *handling, last);
            task(fields)
        }
        Body::Wait(seconds) => json!({ "Type": "Wait", "Seconds": seconds }),
        Body::Choice(kind) => {
            let rule = json!({ "Variable": "$.n", "NumericLessThan": kind % 4, "Next": last });
            let mut choice = json!({ "Type": "Choice", "Choices": [rule] });
            if kind % 5 > 0 {
                choice["Default"] = json!(next);
            }
            return choice;
        }
        Body::Succeed => return json!({ "Type": "Succeed" }),
        Body::Fail => return fail("A"),
        Body::Parallel { branches, handling } => {
            let branches: Vec<Value> = branches.iter().map(|branch| scope(branch, names)).collect();
            let mut fields = json!({ "ResultPath": "$.r" });
            handled(&mut fields, *handling, last);
            parallel(json!(branches), fields)
        }
        Body::Map { states, settings, handling } => {
            let mut fields = json!({
                "ItemsPath": "$.list",
                "ItemSelector": { "list.$": "$.list", "n.$": "$$.Map.Item.Index" },
                "MaxConcurrency": settings % 4,
                "ResultPath": "$.r"
            });
            if settings & 16 > 0 {
                fields["ToleratedFailureCount"] = json!(settings % 3);
            }
            handled(&mut fields, *handling, last);
            map(scope(states, names), fields)
        }
    };
    if let Some(fields) = state.as_object_mut() {
        fields.remove("End");
    }
    state["Next"] = json!(next);
    state
}

fn handled(fields: &mut Value, handling: u8, last: &str) {
    if handling & 1 > 0 {
        let jitter = if handling & 32 > 0 { "FULL" } else { "NONE" };
        fields["Retry"] = json!([
            { "ErrorEquals": ["A"], "MaxAttempts": handling % 3, "JitterStrategy": jitter },
            { "ErrorEquals": ["States.ALL"], "MaxAttempts": 1, "IntervalSeconds": 2 }
        ]);
    }
    if handling & 2 > 0 {
        let path = if handling & 4 > 0 { "$.error" } else { "$.n" };
        fields["Catch"] = json!([
            { "ErrorEquals": ["B", "States.BranchFailed"], "ResultPath": path, "Next": last },
            { "ErrorEquals": ["States.ALL"], "ResultPath": null, "Next": last }
        ]);
    }
}
