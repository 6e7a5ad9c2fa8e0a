//! A world in which tasks answer as scripted and time moves only when nothing else happens.
//!
//! Every run also proves that a fold of its recorded events gives the live execution, and that its
//! AWS history is well formed.

mod well_formed;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::sync::Arc;

use everstep_asl::{Machine, Options, Source, parse};
use everstep_history::journal;
use everstep_interpreter::{
    Attempt, Decision, Dialect, Effect, Event, Execution, Failure, FailureStage, Identity, Input,
    Limits, Occasion, Payload, Program, Refusal, Status, TokenKey, Turn, aws_history, effects,
};
use serde_json::{Value, json};

pub(crate) use well_formed::{check_events, check_history};

/// When every execution starts.
pub(crate) const START_MS: i64 = 1_700_000_000_000;

/// What a task attempt does.
#[derive(Debug, Clone)]
pub(crate) enum Outcome {
    Succeeds(Value),
    Fails(Failure),
    /// Never answers.
    Hangs,
    /// Does something else after so many seconds.
    After(f64, Box<Outcome>),
    /// Gives a sign of life every so many seconds, so many times, before it does something else.
    Beats(i64, i64, Box<Outcome>),
}

pub(crate) fn ok(value: Value) -> Outcome {
    Outcome::Succeeds(value)
}

pub(crate) fn error(name: &str) -> Outcome {
    Outcome::Fails(Failure::new(name, "scripted"))
}

pub(crate) fn after(seconds: f64, outcome: Outcome) -> Outcome {
    Outcome::After(seconds, Box::new(outcome))
}

pub(crate) fn beats(every: i64, times: i64, then: Outcome) -> Outcome {
    Outcome::Beats(every, times, Box::new(then))
}

pub(crate) fn errors(names: &[&str]) -> Vec<Outcome> {
    names.iter().map(|name| error(name)).collect()
}

/// A machine that starts at its first state.
pub(crate) fn machine(states: Value) -> Value {
    let start = states.as_object().and_then(|states| states.keys().next()).cloned();
    json!({ "StartAt": start, "States": states })
}

/// A Task state: `extra` are its other fields. Ends unless `extra` says where it goes.
pub(crate) fn task(extra: Value) -> Value {
    state("Task", json!({ "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f" }), extra)
}

pub(crate) fn pass(extra: Value) -> Value {
    state("Pass", json!({}), extra)
}

pub(crate) fn parallel(branches: Value, extra: Value) -> Value {
    state("Parallel", json!({ "Branches": branches }), extra)
}

pub(crate) fn map(iterator: Value, extra: Value) -> Value {
    state("Map", json!({ "Iterator": iterator }), extra)
}

pub(crate) fn fail(error: &str) -> Value {
    json!({ "Type": "Fail", "Error": error, "Cause": "on purpose" })
}

fn state(kind: &str, own: Value, extra: Value) -> Value {
    let mut state = json!({ "Type": kind });
    for fields in [own, extra] {
        for (name, value) in fields.as_object().expect("fields of a state") {
            state[name] = value.clone();
        }
    }
    if kind != "Fail" && kind != "Succeed" && state.get("Next").is_none() {
        state["End"] = json!(true);
    }
    state
}

pub(crate) fn compile(definition: &Value) -> Arc<Machine> {
    let source = Source::new("definition.json", definition.to_string());
    let parsed = parse(&source, &Options::default());
    let errors: Vec<String> =
        parsed.diagnostics.iter().filter(|d| d.is_error()).map(|d| d.message.clone()).collect();
    Arc::new(parsed.into_machine().unwrap_or_else(|| panic!("refused: {errors:?}")))
}

pub(crate) fn identity() -> Identity {
    let arn = |rest: &str| Arc::from(format!("arn:aws:states:us-east-1:123456789012:{rest}"));
    Identity {
        execution_arn: arn("execution:machine:run"),
        execution_name: Arc::from("run"),
        role_arn: Arc::from("arn:aws:iam::123456789012:role/role"),
        machine_arn: arn("stateMachine:machine"),
        machine_name: Arc::from("machine"),
        token_key: TokenKey::default(),
    }
}

/// An execution that is about to run, and what its tasks will answer.
pub(crate) struct World {
    definition: Value,
    input: Value,
    dialect: Dialect,
    limits: Limits,
    seed: u64,
    scripts: HashMap<String, VecDeque<Outcome>>,
    stop_after_ms: Option<i64>,
    turn: Turn,
}

pub(crate) fn world(definition: Value) -> World {
    World {
        definition,
        input: json!({}),
        dialect: Dialect::Spec,
        limits: Limits::default(),
        seed: 1,
        scripts: HashMap::new(),
        stop_after_ms: None,
        turn: Turn::WHOLE,
    }
}

impl World {
    pub(crate) fn input(mut self, input: Value) -> Self {
        self.input = input;
        self
    }

    pub(crate) fn aws(mut self) -> Self {
        self.dialect = Dialect::Aws;
        self
    }

    pub(crate) fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Decides so many events at a time.
    pub(crate) fn turns_of(mut self, events_max: usize) -> Self {
        self.turn.events_max = events_max;
        self
    }

    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// What the attempts of a state do, in order of their start. A state without a script answers
    /// with its parameters.
    pub(crate) fn task(mut self, state: &str, outcomes: impl IntoIterator<Item = Outcome>) -> Self {
        self.scripts.entry(state.to_owned()).or_default().extend(outcomes);
        self
    }

    pub(crate) fn stop_after(mut self, seconds: i64) -> Self {
        self.stop_after_ms = Some(seconds * 1000);
        self
    }

    pub(crate) fn run(self) -> Run {
        let program = Program {
            machine: compile(&self.definition),
            dialect: self.dialect,
            limits: self.limits,
        };
        let execution = Execution::new(Arc::new(program), identity());
        let mut run = Run {
            folded: execution.clone(),
            execution,
            events: Vec::new(),
            records: Vec::new(),
            calls: Vec::new(),
            cancelled: Vec::new(),
            now_ms: START_MS,
            seed: self.seed,
            scripts: self.scripts,
            answers: BinaryHeap::new(),
            inputs: Vec::new(),
            running_max: 0,
            turn: self.turn,
        };
        if let Some(after_ms) = self.stop_after_ms {
            let failure = Failure::new("Stopped", "by hand");
            run.answer(START_MS + after_ms, Input::Stop { failure });
        }
        run.give(Input::Start { input: Payload::new(self.input) }).expect("it starts");
        run.go_on();
        run
    }
}

/// A task that was started.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) attempt: Attempt,
    pub(crate) state: String,
    pub(crate) parameters: Value,
    pub(crate) at_ms: i64,
}

/// An execution, and all that happened.
pub(crate) struct Run {
    pub(crate) execution: Execution,
    folded: Execution,
    pub(crate) events: Vec<Event>,
    /// The journal: one record for each input.
    pub(crate) records: Vec<Vec<u8>>,
    pub(crate) calls: Vec<Call>,
    pub(crate) cancelled: Vec<Attempt>,
    pub(crate) now_ms: i64,
    seed: u64,
    scripts: HashMap<String, VecDeque<Outcome>>,
    answers: BinaryHeap<Reverse<(i64, usize)>>,
    /// What `answers` refers to; a heartbeat is not an input.
    inputs: Vec<(Attempt, Option<Input>)>,
    /// The most tasks that ran at a time.
    pub(crate) running_max: usize,
    turn: Turn,
}

const NOBODY: Attempt =
    Attempt { frame: everstep_interpreter::FrameId(u32::MAX), number: u32::MAX };

impl Run {
    fn answer(&mut self, at_ms: i64, input: Input) {
        self.answers.push(Reverse((at_ms, self.inputs.len())));
        self.inputs.push((NOBODY, Some(input)));
    }

    /// Until nothing can happen any more.
    pub(crate) fn go_on(&mut self) {
        for _ in 0..1_000_000 {
            let due = self.execution.next_due_ms();
            let answer = self.answers.peek().map(|Reverse((at, index))| (*at, *index));
            match (answer, due) {
                (Some((at, index)), due) if due.is_none_or(|due| at <= due) => {
                    self.answers.pop();
                    self.now_ms = self.now_ms.max(at);
                    match self.inputs[index].clone() {
                        // What comes too late is refused.
                        (_, Some(input)) => drop(self.give(input)),
                        (attempt, None) => drop(self.execution.heartbeat(attempt, self.now_ms)),
                    }
                }
                (_, Some(due)) => {
                    self.now_ms = self.now_ms.max(due);
                    self.give(Input::TimePassed).expect("something is due");
                }
                _ => return,
            }
        }
        panic!("the execution does not come to rest");
    }

    /// One input, now, and all that follows from it. What is refused changes nothing.
    pub(crate) fn give(&mut self, input: Input) -> Result<Vec<Event>, Refusal> {
        let Decision { events: mut decided, mut is_unfinished } = self.give_in_turn(input)?;
        while is_unfinished {
            let decision = self.give_in_turn(Input::Continue)?;
            decided.extend(decision.events);
            is_unfinished = decision.is_unfinished;
        }
        Ok(decided)
    }

    fn give_in_turn(&mut self, input: Input) -> Result<Decision, Refusal> {
        self.seed += 1;
        let occasion = Occasion::new(self.now_ms, self.seed);
        let decision = self.execution.decide_in_turn(input, occasion, &self.turn)?;
        let decided = &decision.events;
        let record = journal::encode(decided);
        let recorded = journal::decode(&record).expect("what was recorded can be read");
        assert_eq!(recorded, *decided, "what was recorded is not what was decided");
        self.records.push(record);
        for event in &recorded {
            self.folded.apply(event);
        }
        assert!(self.folded == self.execution, "a fold of the events is not the live execution");
        self.events.extend(decided.iter().cloned());
        for effect in effects(&self.execution, decided) {
            self.perform(effect);
        }
        let awaited = self.calls.iter().filter(|call| self.execution.awaits(call.attempt)).count();
        self.running_max = self.running_max.max(awaited);
        Ok(decision)
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::ScheduleTask { attempt, state, parameters, .. } => {
                let parameters = parameters.value().clone();
                let outcome = match self.scripts.get_mut(&*state) {
                    Some(script) => script
                        .pop_front()
                        .unwrap_or_else(|| panic!("no outcome is scripted for '{state}'")),
                    None => ok(parameters.clone()),
                };
                let (state, at_ms) = (state.to_string(), self.now_ms);
                self.calls.push(Call { attempt, state, parameters, at_ms });
                self.script(attempt, self.now_ms, outcome);
            }
            Effect::CancelTask { attempt } => self.cancelled.push(attempt),
            _ => {}
        }
    }

    fn script(&mut self, attempt: Attempt, at_ms: i64, outcome: Outcome) {
        match outcome {
            Outcome::Succeeds(value) => {
                self.answer(at_ms, Input::TaskSucceeded { attempt, output: Payload::new(value) });
            }
            Outcome::Fails(failure) => {
                let stage = FailureStage::Run;
                self.answer(at_ms, Input::TaskFailed { attempt, failure, stage });
            }
            Outcome::Hangs => {}
            Outcome::After(seconds, then) => {
                self.script(attempt, at_ms + (seconds * 1000.0) as i64, *then);
            }
            Outcome::Beats(every, times, then) => {
                for beat in 1..=times {
                    self.answers.push(Reverse((at_ms + beat * every * 1000, self.inputs.len())));
                    self.inputs.push((attempt, None));
                }
                self.script(attempt, at_ms + times * every * 1000, *then);
            }
        }
    }

    /// More for a state to answer, for example after a redrive.
    pub(crate) fn then(
        &mut self,
        state: &str,
        outcomes: impl IntoIterator<Item = Outcome>,
    ) -> &mut Self {
        self.scripts.entry(state.to_owned()).or_default().extend(outcomes);
        self
    }

    pub(crate) fn redrive(&mut self) -> &mut Self {
        self.give(Input::Redrive).expect("it can be redriven");
        self.go_on();
        self
    }

    #[track_caller]
    pub(crate) fn output(&self) -> Value {
        check_history(self);
        match self.execution.status() {
            Status::Succeeded { output } => output.value().clone(),
            other => panic!("it is {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn failure(&self) -> Failure {
        check_history(self);
        match self.execution.status() {
            Status::Failed { failure } => failure.clone(),
            other => panic!("it is {other:?}"),
        }
    }

    #[track_caller]
    pub(crate) fn error(&self) -> String {
        self.failure().name().to_owned()
    }

    #[track_caller]
    pub(crate) fn cause(&self) -> String {
        self.failure().cause.as_deref().unwrap_or_default().to_owned()
    }

    pub(crate) fn history(&self) -> Vec<Value> {
        aws_history::project(self.execution.program(), self.execution.identity(), &self.events)
    }

    pub(crate) fn event_types(&self) -> Vec<String> {
        self.history().iter().map(|e| e["type"].as_str().unwrap_or_default().to_owned()).collect()
    }

    /// States in the order they were entered.
    pub(crate) fn path(&self) -> Vec<String> {
        self.timeline().into_iter().map(|(state, _)| state).collect()
    }

    /// States as they were entered, each with the seconds since the start.
    pub(crate) fn timeline(&self) -> Vec<(String, f64)> {
        let entered = |event: &Value| {
            let name = event["stateEnteredEventDetails"]["name"].as_str()?.to_owned();
            let at = event["timestamp"].as_i64()? - START_MS;
            Some((name, at as f64 / 1000.0))
        };
        self.history().iter().filter_map(entered).collect()
    }

    /// Seconds of each retry's wait, in order.
    pub(crate) fn delays(&self) -> Vec<f64> {
        let delay = |event: &Event| match event {
            Event::RetryScheduled { at_ms, due_ms, .. } => Some((due_ms - at_ms) as f64 / 1000.0),
            _ => None,
        };
        self.events.iter().filter_map(delay).collect()
    }

    /// When a state's task was started each time, in seconds since the start.
    pub(crate) fn started(&self, state: &str) -> Vec<f64> {
        let calls = self.calls.iter().filter(|call| call.state == state);
        calls.map(|call| (call.at_ms - START_MS) as f64 / 1000.0).collect()
    }

    /// What a state's task was given each time.
    pub(crate) fn parameters(&self, state: &str) -> Vec<Value> {
        let calls = self.calls.iter().filter(|call| call.state == state);
        calls.map(|call| call.parameters.clone()).collect()
    }

    /// Seconds from the start to the last event.
    pub(crate) fn seconds(&self) -> f64 {
        let last = self.history().last().and_then(|event| event["timestamp"].as_i64());
        (last.unwrap_or(START_MS) - START_MS) as f64 / 1000.0
    }
}
