//! Which retrier or catcher took an error: the story and the events read back from a history say what the engine
//! did, in both dialects.

use std::sync::Arc;

use everstep_asl::{Dialect, Machine, Options, Source};
use everstep_interpreter::{
    Effect, Event, Execution, Failure, FailureStage, Identity, Input, Limits, Occasion, Program,
    TokenKey, aws_history, effects,
};
use everstep_story::history::HistoryReader;
use everstep_story::{Entry, Happened, Otherwise, RunId, Story, Verdict};
use serde_json::{Value, json};

const START_MS: i64 = 1_700_000_000_000;

/// What every task does.
#[derive(Debug, Clone, Copy)]
enum Tasks {
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
fn run(machine: Arc<Machine>, dialect: Dialect, tasks: Tasks) -> (Execution, Vec<Vec<Event>>) {
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
            (None, None) => return (execution, decisions),
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

fn story(machine: &Arc<Machine>, dialect: Dialect, decisions: &[Vec<Event>]) -> Story {
    let mut story = Story::new(dialect);
    story.begin(RunId(0), machine.clone(), None);
    for events in decisions {
        story.observe(RunId(0), events);
    }
    story
}

fn texts(story: &Story) -> Vec<String> {
    let mut texts: Vec<String> =
        story.entries().iter().map(|entry| json!(entry).to_string()).collect();
    texts.sort();
    texts
}

/// The story of an execution, which must be the same from its history.
fn told(states: &Value, dialect: Dialect, tasks: Tasks) -> Vec<Entry> {
    let machine = machine(states);
    let (execution, decisions) = run(machine.clone(), dialect, tasks);
    let live = story(&machine, dialect, &decisions);
    let events: Vec<Event> = decisions.concat();
    let history = aws_history::project(execution.program(), execution.identity(), &events);
    let seconds = |mut event: Value| {
        event["timestamp"] = json!(event["timestamp"].as_f64().expect("a number") / 1000.0);
        event
    };
    let history: Vec<Value> = history.into_iter().map(seconds).collect();
    let read_back = HistoryReader::new(machine.clone(), dialect).take(&history);
    let read_back = story(&machine, dialect, &read_back);
    assert_eq!(texts(&read_back), texts(&live), "{states} {dialect:?}");
    live.entries().to_vec()
}

/// Which catcher of a state took over, from 0.
fn catcher(entries: &[Entry], state: &str) -> Option<usize> {
    let of_state = entries.iter().filter(|entry| entry.state == state);
    let took = |entry: &Entry| match &entry.happened {
        Happened::Failed { catchers, .. } => {
            catchers.iter().position(|catcher| catcher.verdict == Verdict::TookOver)
        }
        _ => None,
    };
    of_state.filter_map(took).next()
}

fn reasons(entries: &[Entry], state: &str) -> Vec<String> {
    let of_state = entries.iter().filter(|entry| entry.state == state);
    let reasons = of_state.flat_map(|entry| match &entry.happened {
        Happened::Failed { retriers, catchers, .. } => {
            retriers.iter().chain(catchers).filter_map(|one| one.reason.clone()).collect()
        }
        _ => Vec::new(),
    });
    reasons.collect()
}

fn task(fields: Value) -> Value {
    let mut state = json!({
        "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f",
        "TimeoutSeconds": 9, "End": true
    });
    merge(&mut state, fields);
    state
}

fn parallel(branch: Value, fields: Value) -> Value {
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

fn catching(pattern: &str) -> Value {
    json!([{ "ErrorEquals": [pattern], "Next": "Done" }])
}

#[test]
fn branch_failed_is_of_the_specification_alone() {
    let states = parallel(
        task(json!({})),
        json!({
            "Retry": [{ "ErrorEquals": ["States.BranchFailed"], "MaxAttempts": 1 }],
            "Catch": catching("States.BranchFailed")
        }),
    );
    let entries = told(&states, Dialect::Spec, Tasks::FailWith("OutOfStock"));
    assert_eq!(catcher(&entries, "Ship"), Some(0));
    let retried = entries.iter().find_map(|entry| match &entry.happened {
        Happened::Retried { retrier, otherwise, .. } => Some((retrier.clone(), otherwise.clone())),
        _ => None,
    });
    let (retrier, otherwise) = retried.expect("it is retried");
    assert_eq!(retrier.matched, "States.BranchFailed");
    assert!(matches!(otherwise, Some(Otherwise::Caught { number: 1, .. })), "{otherwise:?}");
    let entries = told(&states, Dialect::Aws, Tasks::FailWith("OutOfStock"));
    assert_eq!(catcher(&entries, "Ship"), None);
}

/// A history has no event of its own for that.
#[test]
fn a_map_is_retried() {
    let item = json!({ "StartAt": "Pack", "States": { "Pack": task(json!({})) } });
    let retry = json!([{ "ErrorEquals": ["OutOfStock"], "MaxAttempts": 2 }]);
    let states = json!({ "Ship": {
        "Type": "Map", "ItemsPath": "$.items", "MaxConcurrency": 1, "ItemProcessor": item,
        "Retry": retry, "End": true
    } });
    for dialect in Dialect::EACH {
        let entries = told(&states, dialect, Tasks::FailWith("OutOfStock"));
        let retried = |entry: &&Entry| matches!(entry.happened, Happened::Retried { .. });
        assert_eq!(entries.iter().filter(retried).count(), 2);
    }
}

/// A missed heartbeat is a timeout too, at the task and around it.
#[test]
fn a_missed_heartbeat_has_two_names() {
    for pattern in ["States.HeartbeatTimeout", "States.Timeout"] {
        let heartbeat = json!({
            "HeartbeatSeconds": 3,
            "Retry": [{ "ErrorEquals": [pattern], "MaxAttempts": 1 }]
        });
        let states = parallel(task(heartbeat), json!({ "Catch": catching(pattern) }));
        for dialect in Dialect::EACH {
            let entries = told(&states, dialect, Tasks::Hang);
            assert_eq!(catcher(&entries, "Ship"), Some(0), "{pattern} {dialect:?}");
            let retried = entries.iter().find_map(|entry| match &entry.happened {
                Happened::Retried { retrier, .. } => Some(retrier.matched.clone()),
                _ => None,
            });
            assert_eq!(retried.as_deref(), Some(pattern));
        }
    }
}

/// One that ran out of time has only one.
#[test]
fn a_timeout_is_no_missed_heartbeat() {
    let states = parallel(task(json!({})), json!({ "Catch": catching("States.HeartbeatTimeout") }));
    for dialect in Dialect::EACH {
        assert_eq!(catcher(&told(&states, dialect, Tasks::Hang), "Ship"), None);
    }
}

#[test]
fn a_wildcard_around_does_not_catch_a_result_that_is_too_large() {
    let tasks = Tasks::FailWith("States.DataLimitExceeded");
    let states = parallel(task(json!({})), json!({ "Catch": catching("States.ALL") }));
    for dialect in Dialect::EACH {
        let entries = told(&states, dialect, tasks);
        assert_eq!(catcher(&entries, "Ship"), None, "{dialect:?}");
        let expected = ["States.ALL excludes States.DataLimitExceeded"];
        assert_eq!(reasons(&entries, "Ship"), expected, "{dialect:?}");
    }
    let states = json!({
        "Pack": task(json!({ "Catch": catching("States.ALL") })), "Done": { "Type": "Succeed" }
    });
    assert_eq!(catcher(&told(&states, Dialect::Spec, tasks), "Pack"), None);
    assert_eq!(catcher(&told(&states, Dialect::Aws, tasks), "Pack"), Some(0));
}

#[test]
fn nothing_takes_what_always_ends_the_execution() {
    let states = parallel(task(json!({})), json!({ "Catch": catching("States.ALL") }));
    let entries = told(&states, Dialect::Spec, Tasks::FailWith("States.Runtime"));
    assert_eq!(reasons(&entries, "Ship"), ["nothing can retry or catch this error"]);
}

#[test]
fn a_map_that_tolerates_failures_fails_by_a_name_of_its_own() {
    let item = json!({ "StartAt": "Pack", "States": { "Pack": task(json!({})) } });
    let states = json!({
        "Ship": {
            "Type": "Map", "ItemsPath": "$.items", "ItemProcessor": item, "End": true,
            "ToleratedFailureCount": 1,
            "Catch": catching("States.ExceedToleratedFailureThreshold")
        },
        "Done": { "Type": "Succeed" }
    });
    for dialect in Dialect::EACH {
        let entries = told(&states, dialect, Tasks::FailWith("OutOfStock"));
        assert_eq!(catcher(&entries, "Ship"), Some(0), "{dialect:?}");
    }
}
