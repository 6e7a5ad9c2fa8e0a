//! The machines that are run: each says what it must come to, whatever happens on the way.

use serde_json::{Value, json};

use crate::protocol::End;

pub struct Machine {
    pub name: &'static str,
    pub definition: Value,
    pub part: Part,
    /// For each state: how many attempts fail and how many succeed.
    pub attempts: Vec<(&'static str, usize, usize)>,
    end: fn(u64) -> End,
}

/// What the driver has to do for an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// Nothing after the start.
    Watch,
    Answer,
    Stop,
    /// Stop it when it asks for a callback, redrive it, and answer when it asks again.
    Redrive,
}

impl Machine {
    /// The end of an execution whose input is `{"n": n, …}`.
    #[must_use]
    pub fn end(&self, n: u64) -> End {
        (self.end)(n)
    }
}

#[must_use]
pub fn input(n: u64) -> Value {
    json!({"n": n, "items": [{"n": n}, {"n": n + 10}, {"n": n + 20}, {"n": n + 30}, {"n": n + 40}]})
}

/// A task that fails so many times before it succeeds.
fn task(ms: u64, failures: u64, then: Value) -> Value {
    let mut state = json!({
        "Type": "Task",
        "Resource": "arn:aws:lambda:us-east-1:000000000000:function:f",
        "Parameters": {
            "n.$": "$.n", "ms": ms, "failures": failures, "error": "Again",
            "retries.$": "$$.State.RetryCount"
        }
    });
    add(&mut state, then);
    state
}

/// A task that is answered from outside.
fn callback() -> Value {
    json!({
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {
            "QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/q",
            "MessageBody": {"token.$": "$$.Task.Token", "n.$": "$.n"}
        },
        "End": true
    })
}

fn add(state: &mut Value, more: Value) {
    if let (Some(state), Value::Object(more)) = (state.as_object_mut(), more) {
        state.extend(more);
    }
}

fn retry(seconds: u64, times: u64) -> Value {
    json!([{
        "ErrorEquals": ["Again"], "IntervalSeconds": seconds, "MaxAttempts": times, "BackoffRate": 1
    }])
}

fn one(name: &str, state: &Value) -> Value {
    json!({"StartAt": name, "States": {name: state}})
}

#[must_use]
pub fn all() -> Vec<Machine> {
    let machine = |name, definition, attempts, end| Machine {
        name,
        definition,
        part: Part::Watch,
        attempts,
        end,
    };
    vec![
        machine(
            "chain",
            json!({"StartAt": "A", "States": {
                "A": task(3, 0, json!({"Next": "B"})),
                "B": task(0, 0, json!({"Next": "C"})),
                "C": task(12, 0, json!({"Next": "D"})),
                "D": task(1, 0, json!({"End": true}))
            }}),
            vec![("A", 0, 1), ("B", 0, 1), ("C", 0, 1), ("D", 0, 1)],
            |n| End::Succeeded(json!({"n": n + 4})),
        ),
        machine(
            "retry",
            json!({"StartAt": "Twice", "States": {
                "Twice": task(2, 2, json!({"Retry": retry(1, 2), "Next": "Once"})),
                "Once": task(8, 1, json!({"Retry": retry(2, 5), "End": true}))
            }}),
            vec![("Twice", 2, 1), ("Once", 1, 1)],
            |n| End::Succeeded(json!({"n": n + 2})),
        ),
        machine(
            "exhausted",
            one("Never", &task(4, 99, json!({"Retry": retry(1, 2), "End": true}))),
            vec![("Never", 3, 0)],
            |_| End::Failed("Again".to_owned()),
        ),
        machine(
            "wait",
            json!({"StartAt": "W", "States": {
                "W": {"Type": "Wait", "Seconds": 1, "Next": "T"},
                "T": task(5, 0, json!({"Next": "V"})),
                "V": {"Type": "Wait", "Seconds": 2, "End": true}
            }}),
            vec![("T", 0, 1)],
            |n| End::Succeeded(json!({"n": n + 1})),
        ),
        machine(
            "parallel",
            one(
                "P",
                &json!({"Type": "Parallel", "End": true, "Branches": [
                    one("L", &task(6, 0, json!({"End": true}))),
                    one("M", &task(1, 1, json!({"Retry": retry(1, 1), "End": true}))),
                    one("R", &task(15, 0, json!({"End": true})))
                ]}),
            ),
            vec![("L", 0, 1), ("M", 1, 1), ("R", 0, 1)],
            |n| End::Succeeded(json!([{"n": n + 1}, {"n": n + 1}, {"n": n + 1}])),
        ),
        machine(
            "map",
            one(
                "Each",
                &json!({
                    "Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 2, "End": true,
                    "ItemProcessor": one("T", &task(4, 0, json!({"End": true})))
                }),
            ),
            vec![("T", 0, 5)],
            |n| End::Succeeded((0..5).map(|i| json!({"n": n + i * 10 + 1})).collect()),
        ),
        machine(
            "catch",
            json!({"StartAt": "Try", "States": {
                "Try": task(3, 1, json!({"Next": "Lost", "Catch": [
                    {"ErrorEquals": ["Again"], "ResultPath": "$.caught", "Next": "Amend"}
                ]})),
                "Lost": {"Type": "Fail"},
                "Amend": task(3, 0, json!({"ResultPath": "$.amended", "Next": "Keep"})),
                "Keep": {"Type": "Pass", "End": true, "Parameters": {
                    "caught.$": "$.caught", "amended.$": "$.amended.n"
                }}
            }}),
            vec![("Try", 1, 0), ("Amend", 0, 1)],
            |n| {
                let caught = json!({"Error": "Again", "Cause": "attempt 1"});
                End::Succeeded(json!({"caught": caught, "amended": n + 1}))
            },
        ),
        machine(
            "race",
            json!({"StartAt": "P", "States": {
                "P": {"Type": "Parallel", "Next": "Lost", "Branches": [
                    one("Loses", &task(10, 1, json!({"End": true}))),
                    one("Waits", &json!({"Type": "Wait", "Seconds": 3600, "End": true}))
                ], "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}]},
                "Lost": {"Type": "Fail"},
                "Caught": {"Type": "Pass", "Result": "caught", "End": true}
            }}),
            vec![("Loses", 1, 0)],
            |_| End::Succeeded(json!("caught")),
        ),
        machine(
            "timeout",
            json!({"StartAt": "T", "TimeoutSeconds": 2, "States": {
                "T": task(1, 0, json!({"Next": "W"})),
                "W": {"Type": "Wait", "Seconds": 3600, "End": true}
            }}),
            // It may be killed for as long as it has.
            vec![],
            |_| End::TimedOut,
        ),
        Machine {
            part: Part::Answer,
            ..machine("callback", one("Asks", &callback()), vec![("Asks", 0, 1)], |n| {
                End::Succeeded(json!({"n": n + 1}))
            })
        },
        Machine {
            part: Part::Redrive,
            ..machine("redrive", one("Asks", &callback()), vec![("Asks", 0, 1)], |n| {
                End::Succeeded(json!({"n": n + 1}))
            })
        },
        Machine {
            part: Part::Stop,
            ..machine(
                "stop",
                one("W", &json!({"Type": "Wait", "Seconds": 3600, "End": true})),
                vec![],
                |_| End::Aborted,
            )
        },
    ]
}
