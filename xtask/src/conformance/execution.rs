//! Recorded executions, replayed: every task answers as it did then, and time moves on by itself.

use std::collections::HashMap;
use std::sync::Arc;

use everstep_asl::{Machine, Options, Source, WorkflowType, parse};
use everstep_interpreter::map_run::too_many_failures;
use everstep_interpreter::{
    Attempt, Dialect, Effect, Event, Execution, Failure, FailureStage, Identity, Input, Limits,
    Occasion, Payload, Program, Status, TokenKey, aws_history, effects,
};
use serde_json::Value;

use super::Outcome;
use super::compare::{Found, compare};

/// Inputs an execution may take before it counts as stuck.
const INPUTS_MAX: usize = 10_000;

pub(super) fn check(case: &Value) -> Outcome {
    if case["replayable"] == false {
        return Outcome::Skipped("not replayable");
    }
    match replay(case).and_then(|found| compare(case, &found)) {
        Ok(()) => Outcome::Passed,
        Err(difference) => Outcome::Failed(difference),
    }
}

fn replay(case: &Value) -> Result<Found, String> {
    let express = case["type"] == "EXPRESS";
    let options = Options {
        workflow_type: if express { WorkflowType::Express } else { WorkflowType::Standard },
        dialect: Dialect::Aws,
        ..Options::default()
    };
    let source = Source::new("definition.json", case["definition"].to_string());
    let parsed = parse(&source, &options);
    let errors: Vec<String> = parsed
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .map(|d| format!("{}: {}", d.code, d.message))
        .collect();
    let machine = parsed.into_machine().ok_or_else(|| format!("refused: {}", errors.join("; ")))?;
    let mut world = World::new(case);
    let (execution, events) = world.run(Arc::new(machine), input_of(case))?;
    let program = execution.program().clone();
    let history = aws_history::project(&program, execution.identity(), &events);
    let (status, output, failure) = match execution.status() {
        Status::Running => return Err(format!("still running after {} events", events.len())),
        Status::Succeeded { output } => {
            ("SUCCEEDED", Some(output.value().clone()), Failure::default())
        }
        Status::Failed { failure } => ("FAILED", None, failure.clone()),
        Status::TimedOut => ("TIMED_OUT", None, Failure::default()),
        Status::Aborted { failure } => ("ABORTED", None, failure.clone()),
    };
    Ok(Found {
        status: status.to_owned(),
        output,
        error: failure.error.as_deref().map(str::to_owned),
        cause: failure.cause.as_deref().map(str::to_owned),
        history,
    })
}

/// Answers tasks with what was recorded, and moves the clock when nothing else happens.
struct World<'c> {
    /// What is left to answer, by state and item.
    outcomes: HashMap<(String, Option<u64>), Vec<&'c Value>>,
    now_ms: i64,
    seed: u64,
    missing_activities: Vec<&'c str>,
    express: bool,
    /// By the event that scheduled the activity.
    workers: HashMap<u64, &'c str>,
}

impl<'c> World<'c> {
    fn new(case: &'c Value) -> Self {
        let mut outcomes: HashMap<_, Vec<&Value>> = HashMap::new();
        for task in case["tasks"].as_array().into_iter().flatten() {
            let state = task["state"].as_str().unwrap_or_default().to_owned();
            outcomes.entry((state, task["mapIndex"].as_u64())).or_default().push(task);
        }
        outcomes.values_mut().for_each(|list| list.reverse());
        Self {
            outcomes,
            now_ms: 1_700_000_000_000,
            seed: 1,
            missing_activities: missing_activities(case),
            express: case["type"] == "EXPRESS",
            workers: workers(case),
        }
    }

    fn run(
        &mut self,
        machine: Arc<Machine>,
        input: Payload,
    ) -> Result<(Execution, Vec<Event>), String> {
        let program = Program { machine, dialect: Dialect::Aws, limits: Limits::default() };
        let mut execution = Execution::new(Arc::new(program), identity(self.express));
        let (mut events, mut inputs) = (Vec::new(), vec![Input::Start { input }]);
        for _ in 0..INPUTS_MAX {
            if !matches!(execution.status(), Status::Running) && !events.is_empty() {
                break;
            }
            let input = match inputs.pop() {
                Some(input) => input,
                None => match execution.next_due_ms() {
                    Some(due) => {
                        self.now_ms = self.now_ms.max(due);
                        Input::TimePassed
                    }
                    None => break,
                },
            };
            self.seed += 1;
            let occasion = Occasion {
                now_ms: self.now_ms,
                seed: self.seed,
                missing_activities: &self.missing_activities,
            };
            // What is refused changes nothing.
            let decided = execution.decide(input, occasion).unwrap_or_default();
            for effect in effects(&execution, &decided).into_iter().rev() {
                self.perform(&execution, effect, &mut inputs)?;
            }
            events.extend(decided);
        }
        Ok((execution, events))
    }

    fn perform(
        &mut self,
        execution: &Execution,
        effect: Effect,
        inputs: &mut Vec<Input>,
    ) -> Result<(), String> {
        match effect {
            Effect::ScheduleTask { attempt, state, .. } => {
                let item = execution.iteration_of(attempt.frame).map(u64::from);
                let task = self
                    .outcome(&state, item)
                    .ok_or_else(|| format!("no recorded outcome for '{state}'"))?;
                // Last in, first out: the answer is pushed before what precedes it.
                inputs.extend(answer(attempt, task));
                if let Some(output) = task.get("submitted").filter(|output| !output.is_null()) {
                    inputs.push(Input::TaskSubmitted {
                        attempt,
                        output: Payload::new(output.clone()),
                    });
                }
                let scheduled = task["scheduledEventId"].as_u64().unwrap_or(0);
                let worker = self.workers.get(&scheduled).map(|name| Arc::from(*name));
                inputs.push(Input::TaskStarted { attempt, worker });
            }
            Effect::StartMapRun { attempt, frame, plan, .. } => {
                let children = self.children(execution, frame, &plan.inputs)?;
                let failed = children.iter().filter(|child| child.is_err()).count();
                inputs.push(if plan.tolerance.is_exceeded(failed, children.len()) {
                    Input::MapRunFailed { attempt, failure: too_many_failures() }
                } else {
                    Input::MapRunFinished { attempt, children }
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// By state and item; a state inside a nested scope may be recorded without its item.
    fn outcome(&mut self, state: &str, item: Option<u64>) -> Option<&'c Value> {
        for key in [(state.to_owned(), item), (state.to_owned(), None)] {
            if let Some(task) = self.outcomes.get_mut(&key).and_then(Vec::pop) {
                return Some(task);
            }
        }
        None
    }

    /// Child executions of a distributed Map, one after the other.
    fn children(
        &mut self,
        execution: &Execution,
        frame: everstep_interpreter::FrameId,
        items: &Payload,
    ) -> Result<Vec<Result<Payload, Failure>>, String> {
        let machine = execution.state_of(frame).and_then(|state| match &state.kind {
            everstep_asl::model::Kind::Map(map) => Some(map.processor.clone()),
            _ => None,
        });
        let machine = machine.ok_or("a map run without a map")?;
        let mut outcomes = Vec::new();
        for item in items.as_array().into_iter().flatten() {
            let (child, _) = self.run(machine.clone(), Payload::new(item.clone()))?;
            outcomes.push(match child.status() {
                Status::Succeeded { output } => Ok(output.clone()),
                Status::Failed { failure } => Err(failure.clone()),
                other => return Err(format!("a child execution is {other:?}")),
            });
        }
        Ok(outcomes)
    }
}

fn answer(attempt: Attempt, task: &Value) -> Option<Input> {
    let outcome = &task["outcome"];
    if let Some(output) = outcome.get("succeeded") {
        return Some(Input::TaskSucceeded { attempt, output: Payload::new(output.clone()) });
    }
    let failure = outcome.get("failed")?;
    let text = |name: &str| failure[name].as_str().map(Arc::from);
    let stage = match task["eventType"].as_str().or(outcome["eventType"].as_str()) {
        Some("TaskSubmitFailed") => FailureStage::Submit,
        Some("TaskStartFailed" | "LambdaFunctionStartFailed") => FailureStage::Start,
        Some("LambdaFunctionScheduleFailed" | "ActivityScheduleFailed") => FailureStage::Schedule,
        _ => FailureStage::Run,
    };
    let failure = Failure { error: text("error"), cause: text("cause") };
    Some(Input::TaskFailed { attempt, failure, stage })
}

/// Activities that were deleted before the run: the recording says so in its cause.
fn missing_activities(case: &Value) -> Vec<&str> {
    let cause = case["expected"]["cause"].as_str().unwrap_or_default();
    let arn =
        cause.split("The activity ").nth(1).and_then(|rest| rest.strip_suffix(" does not exist."));
    arn.into_iter().collect()
}

/// Who took each activity task: part of what the world did, not of what is checked.
fn workers(case: &Value) -> HashMap<u64, &str> {
    let history = case["expected"]["history"].as_array().into_iter().flatten();
    history
        .filter_map(|event| {
            let name = event["activityStartedEventDetails"]["workerName"].as_str()?;
            Some((event["previousEventId"].as_u64()?, name))
        })
        .collect()
}

/// The input as it was sent, white space included where that was kept.
fn input_of(case: &Value) -> Payload {
    let raw = case["expected"]["rawText"].as_array().into_iter().flatten();
    let text = raw
        .filter(|entry| entry["event"] == 0 && entry["field"] == "input")
        .find_map(|entry| entry["text"].as_str());
    text.and_then(|text| Payload::from_text(text).ok())
        .unwrap_or_else(|| Payload::new(case["input"].clone()))
}

fn identity(express: bool) -> Identity {
    let arn = |kind: &str, rest: &str| {
        Arc::from(format!("arn:aws:states:us-east-1:111111111111:{kind}:{rest}"))
    };
    Identity {
        execution_arn: if express {
            arn("express", "machine:run:1")
        } else {
            arn("execution", "machine:run")
        },
        execution_name: Arc::from("run"),
        role_arn: Arc::from("arn:aws:iam::111111111111:role/role"),
        machine_arn: arn("stateMachine", "machine"),
        machine_name: Arc::from("machine"),
        token_key: TokenKey::default(),
    }
}
