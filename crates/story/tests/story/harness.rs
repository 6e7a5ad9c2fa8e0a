//! Runs executions without an engine.

use std::sync::Arc;

use everstep_asl::{Dialect, Machine, Options, Source};
use everstep_interpreter::{
    Effect, Event, Execution, Failure, FailureStage, Identity, Input, Limits, Occasion, Program,
    TokenKey, effects,
};
use everstep_story::{RunId, Story};
use serde_json::{Value, json};

const START_MS: i64 = 1_700_000_000_000;

/// What every task does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Tasks {
    FailWith(&'static str),
    /// Their time runs out.
    Hang,
}

fn machine(states: &Value) -> Arc<Machine> {
    let start = states.as_object().and_then(|states| states.keys().next()).cloned();
    let text = json!({ "StartAt": start, "States": states }).to_string();
    let parsed = everstep_asl::parse(&Source::new("test.json", text), &Options::default());
    Arc::new(parsed.into_machine().expect("a definition without errors"))
}

/// Runs an execution to its end: the events of each decision.
fn run(machine: Arc<Machine>, dialect: Dialect, tasks: Tasks) -> Vec<Vec<Event>> {
    let program = Program { machine, dialect, limits: Limits::default() };
    let name = || Arc::from("name");
    let identity = Identity {
        execution_arn: name(),
        execution_name: name(),
        role_arn: name(),
        machine_arn: name(),
        machine_name: name(),
        token_key: TokenKey::default(),
    };
    let mut execution = Execution::new(Arc::new(program), identity);
    let mut inputs = vec![Input::Start { input: json!({ "items": [1, 2] }).into() }];
    let (mut now_ms, mut decisions) = (START_MS, Vec::new());
    loop {
        let input = match (inputs.pop(), execution.next_due_ms()) {
            (Some(input), _) => input,
            (None, Some(due_ms)) => {
                now_ms = due_ms;
                Input::TimePassed
            }
            (None, None) => return decisions,
        };
        let Ok(events) = execution.decide(input, Occasion::new(now_ms, 1)) else { continue };
        for effect in effects(&execution, &events) {
            if let (Effect::ScheduleTask { attempt, .. }, Tasks::FailWith(error)) = (effect, tasks)
            {
                let (failure, stage) = (Failure::new(error, "scripted"), FailureStage::Run);
                inputs.push(Input::TaskFailed { attempt, failure, stage });
            }
        }
        decisions.push(events);
    }
}

/// The story of an execution of these states, the first of which is where it starts.
pub(crate) fn story(states: &Value, dialect: Dialect, tasks: Tasks) -> Story {
    observed(Story::new(dialect), states, dialect, tasks)
}

pub(crate) fn observed(mut story: Story, states: &Value, dialect: Dialect, tasks: Tasks) -> Story {
    let machine = machine(states);
    story.begin(RunId(0), machine.clone(), None);
    for events in run(machine, dialect, tasks) {
        story.observe(RunId(0), &events);
    }
    story
}

pub(crate) fn task(fields: Value) -> Value {
    let mut state = json!({
        "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f",
        "TimeoutSeconds": 9, "End": true
    });
    merge(&mut state, fields);
    state
}

pub(crate) fn parallel(branch: Value, fields: Value) -> Value {
    let branch = json!({ "StartAt": "Pack", "States": { "Pack": branch } });
    let mut state = json!({ "Type": "Parallel", "Branches": [branch], "End": true });
    merge(&mut state, fields);
    json!({ "Ship": state, "Done": { "Type": "Succeed" } })
}

fn merge(state: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else { panic!("fields of a state") };
    for (name, value) in fields {
        state[name] = value;
    }
}
