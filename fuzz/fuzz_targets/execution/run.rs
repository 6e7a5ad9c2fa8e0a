//! An execution under limits, in a world that answers as the bytes say.

use std::collections::VecDeque;
use std::sync::Arc;

use everstep_asl::model::Pattern;
use everstep_asl::{Machine, Source};
use everstep_history::journal;
use everstep_interpreter::{
    Attempt, Dialect, Effect, Event, Execution, Failure, FailureStage, Identity, Input, Limits,
    Occasion, Payload, Program, Refusal, Status, aws_history, effects,
};
use libfuzzer_sys::arbitrary::{Result, Unstructured};
use serde_json::Value;

use crate::definition::Writer;

const DECISIONS_MAX: usize = 150;
const LIMITS: Limits = Limits {
    payload_bytes: 32 * 1024,
    history_events: Some(400),
    inline_concurrency: 40,
    wait_scale_millionths: 1_000_000,
};

pub struct Run<'u, 'd> {
    from: &'u mut Unstructured<'d>,
    execution: Execution,
    /// What recovery would make of the events.
    folded: Execution,
    events: Vec<Event>,
    inputs: VecDeque<Input>,
    now_ms: i64,
}

impl<'u, 'd> Run<'u, 'd> {
    pub fn new(
        from: &'u mut Unstructured<'d>,
        machine: Machine,
        dialect: Dialect,
        input: Value,
    ) -> Self {
        let program = Arc::new(Program { machine: Arc::new(machine), dialect, limits: LIMITS });
        let execution = Execution::new(program, identity());
        let inputs = VecDeque::from([Input::Start { input: Payload::new(input) }]);
        Self {
            from,
            folded: execution.clone(),
            execution,
            events: Vec::new(),
            inputs,
            now_ms: 1_700_000_000_000,
        }
    }

    /// To its end, or as far as the limit on decisions goes. It runs out of bytes before it runs out of answers.
    pub fn to_the_end(mut self) {
        for _ in 0..DECISIONS_MAX {
            let Some(input) = self.inputs.pop_front().or_else(|| self.time()) else { break };
            let Ok(events) = self.decide(input) else { continue };
            self.check(&events);
            let asked = effects(&self.execution, &events);
            self.events.extend(events);
            for effect in asked {
                // Without bytes nothing is answered any more.
                if self.perform(effect).is_err() {
                    break;
                }
            }
        }
        self.check_history();
    }

    /// The one call that may change.
    fn decide(&mut self, input: Input) -> std::result::Result<Vec<Event>, Refusal> {
        let seed = self.from.arbitrary().unwrap_or_default();
        self.execution.decide(input, Occasion::new(self.now_ms, seed))
    }

    /// Folding what was recorded gives what was decided.
    fn check(&mut self, events: &[Event]) {
        let record = journal::encode(events);
        let read = journal::decode(&record).expect("what was recorded can be read");
        assert_eq!(read, events);
        read.iter().for_each(|event| self.folded.apply(event));
        assert!(
            self.folded == self.execution,
            "decided: {:?}\nfolded: {:?}",
            self.execution,
            self.folded
        );
    }

    fn check_history(&self) {
        let (program, identity) = (self.execution.program(), self.execution.identity());
        let history = aws_history::project(program, identity, &self.events);
        assert!(history.len() <= LIMITS.history_events.unwrap_or_default() as usize);
        for (index, event) in history.iter().enumerate() {
            assert_eq!(event["id"], index + 1);
            assert!(event["previousEventId"].as_u64() <= Some(index as u64), "{event}");
        }
        let program = Execution::new(program.clone(), identity.clone());
        let again = self.events.iter().fold(program, |mut execution, event| {
            execution.apply(event);
            execution
        });
        assert!(again == self.execution, "a new fold differs");
    }

    /// Nothing else can happen before what is due.
    fn time(&mut self) -> Option<Input> {
        if *self.execution.status() != Status::Running {
            return None;
        }
        let due_ms = self.execution.next_due_ms();
        assert!(
            due_ms.is_some() || self.execution.open_attempts() > 0,
            "it waits for nothing: {:?}",
            self.execution
        );
        self.now_ms = due_ms?.max(self.now_ms);
        Some(Input::TimePassed)
    }

    fn perform(&mut self, effect: Effect) -> Result<()> {
        match effect {
            Effect::ScheduleTask { attempt, resource, .. } => {
                self.inputs.push_back(Input::TaskStarted { attempt, worker: Some("w".into()) });
                if resource.pattern() != Pattern::RequestResponse {
                    let output = Payload::new(self.value()?);
                    self.inputs.push_back(Input::TaskSubmitted { attempt, output });
                }
                let input = self.answer(attempt)?;
                self.inputs.push_back(input);
                if self.from.ratio(1, 8)? {
                    // A second answer, or one to an attempt there is not.
                    let late = self.answer(Attempt { ..attempt })?;
                    self.inputs.push_back(late);
                }
            }
            Effect::StartMapRun { attempt, plan, .. } => {
                let count = plan.inputs.value().as_array().map_or(0, Vec::len);
                let children: Result<Vec<_>> = (0..count).map(|_| self.child()).collect();
                let input = match self.from.ratio(1, 8)? {
                    true => Input::MapRunFailed { attempt, failure: broken() },
                    false => Input::MapRunFinished { attempt, children: children? },
                };
                self.inputs.push_back(input);
            }
            Effect::Fail { .. } | Effect::TimeOut | Effect::Abort { .. }
                if self.from.ratio(1, 4)? =>
            {
                self.inputs.push_back(Input::Redrive);
            }
            _ => {}
        }
        if self.from.ratio(1, 64)? {
            self.inputs.push_back(Input::Stop { failure: broken() });
        }
        Ok(())
    }

    fn answer(&mut self, attempt: Attempt) -> Result<Input> {
        Ok(match self.from.ratio(1, 3)? {
            true => Input::TaskFailed { attempt, failure: broken(), stage: FailureStage::Run },
            false => Input::TaskSucceeded { attempt, output: Payload::new(self.value()?) },
        })
    }

    fn child(&mut self) -> Result<std::result::Result<Payload, Failure>> {
        Ok(if self.from.ratio(1, 4)? { Err(broken()) } else { Ok(Payload::new(self.value()?)) })
    }

    fn value(&mut self) -> Result<Value> {
        Writer::new(self.from)?.value(0)
    }
}

/// The model of a text, if it is legal.
pub fn machine(text: &str) -> Option<Machine> {
    everstep_asl::parse(&Source::new("definition.json", text), &everstep_asl::Options::default())
        .into_machine()
}

fn broken() -> Failure {
    Failure::new("Broken", "as planned")
}

fn identity() -> Identity {
    Identity {
        execution_arn: "arn:aws:states:us-east-1:123456789012:execution:m:e".into(),
        execution_name: "e".into(),
        role_arn: "arn:aws:iam::123456789012:role/r".into(),
        machine_arn: "arn:aws:states:us-east-1:123456789012:stateMachine:m".into(),
        machine_name: "m".into(),
    }
}
