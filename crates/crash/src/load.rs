//! The executions that are asked for, and how far the driver has come with each.

use std::collections::HashMap;

use crate::harness;
use crate::machines::{self, Machine, Part};
use crate::protocol::{Answer, End, Request};

pub struct Execution {
    pub arn: String,
    pub machine: usize,
    pub n: u64,
    stage: Stage,
    /// Callbacks that were asked for, each once.
    tokens: Vec<String>,
    /// How it ended, as the engine has said.
    pub end: Option<End>,
}

/// What the driver waits for. All but `Asking` and `Over` are asked for again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Starting,
    /// For a callback.
    Asking,
    Stopping,
    Redriving,
    Answering,
    Watching,
    Over,
}

pub struct Load {
    pub machines: Vec<Machine>,
    pub executions: Vec<Execution>,
    places: HashMap<String, usize>,
    over: usize,
}

impl Default for Load {
    fn default() -> Self {
        Self { machines: machines::all(), executions: Vec::new(), places: HashMap::new(), over: 0 }
    }
}

impl Load {
    #[must_use]
    pub fn open(&self) -> usize {
        self.executions.len() - self.over
    }

    /// One more execution of some machine.
    pub fn add(&mut self, draw: u64) -> Request {
        let machine = usize::try_from(draw % self.machines.len() as u64).unwrap_or(0);
        let index = self.executions.len();
        let arn = harness::execution_arn(self.machines[machine].name, &format!("e{index}"));
        self.places.insert(arn.clone(), index);
        let execution = Execution {
            arn,
            machine,
            n: index as u64,
            stage: Stage::Starting,
            tokens: Vec::new(),
            end: None,
        };
        self.executions.push(execution);
        self.wanted(index).expect("it starts")
    }

    /// All that has not been answered.
    #[must_use]
    pub fn unanswered(&self) -> Vec<Request> {
        (0..self.executions.len()).filter_map(|index| self.wanted(index)).collect()
    }

    fn wanted(&self, index: usize) -> Option<Request> {
        let Execution { arn, machine, n, stage, tokens, .. } = &self.executions[index];
        let arn = arn.clone();
        Some(match stage {
            Stage::Starting => {
                let machine = self.machines[*machine].name.to_owned();
                Request::Start { machine, arn, input: machines::input(*n) }
            }
            Stage::Stopping => Request::Stop { arn },
            Stage::Redriving => Request::Redrive { arn },
            Stage::Answering => Request::Report {
                token: tokens.last()?.clone(),
                output: serde_json::json!({"n": n + 1}),
            },
            Stage::Watching => Request::Watch { arn },
            Stage::Asking | Stage::Over => return None,
        })
    }

    /// Takes an answer; what is to be asked for next.
    ///
    /// # Errors
    ///
    /// If it is an answer that must not be given.
    pub fn take(&mut self, answer: Answer) -> Result<Option<Request>, String> {
        let (arn, answered) = match &answer {
            Answer::Ready { .. } => return Ok(None),
            Answer::Failed { error } => return Err(format!("the engine failed: {error}")),
            Answer::Started { arn } => (arn.clone(), Stage::Starting),
            Answer::Stopped { arn } => (arn.clone(), Stage::Stopping),
            Answer::Redriven { arn } => (arn.clone(), Stage::Redriving),
            Answer::Reported { token } => (arn_of(token), Stage::Answering),
            Answer::Callback { arn, .. } => (arn.clone(), Stage::Asking),
            Answer::Ended { arn, .. } => (arn.clone(), Stage::Watching),
            Answer::Refused { request, code, error } => settled(request, code)
                .ok_or_else(|| format!("{request:?} was refused: {code}: {error}"))?,
        };
        let index = *self.places.get(&arn).ok_or_else(|| format!("{arn} was not requested"))?;
        let part = self.machines[self.executions[index].machine].part;
        let before = self.executions[index].stage;
        self.executions[index].take(part, answered, answer);
        let after = self.executions[index].stage;
        if before == after {
            return Ok(None);
        }
        self.over += usize::from(after == Stage::Over);
        Ok(self.wanted(index))
    }
}

/// What an earlier process did but could not say any more: not an error.
fn settled(request: &Request, code: &str) -> Option<(String, Stage)> {
    match (request, code) {
        (Request::Start { arn, .. }, "AlreadyExists") => Some((arn.clone(), Stage::Starting)),
        (Request::Redrive { arn }, "WrongStatus Running") => Some((arn.clone(), Stage::Redriving)),
        (Request::Report { token, .. }, "Settled") => Some((arn_of(token), Stage::Answering)),
        _ => None,
    }
}

fn arn_of(token: &str) -> String {
    everstep_interpreter::parse_attempt_name(token).map(|(arn, _)| arn).unwrap_or_default()
}

impl Execution {
    fn take(&mut self, part: Part, answered: Stage, answer: Answer) {
        match answer {
            // Requested again after a crash, it may be answered when it is long over.
            Answer::Callback { token, .. } if self.tokens.contains(&token) => return,
            Answer::Callback { token, .. } => self.tokens.push(token),
            Answer::Ended { end, .. } => self.end = Some(end),
            _ => {}
        }
        if self.stage == answered {
            self.stage = self.next(part);
        }
    }

    fn next(&self, part: Part) -> Stage {
        let asked = self.tokens.len();
        match (self.stage, part) {
            (Stage::Starting, Part::Watch) => Stage::Watching,
            (Stage::Starting | Stage::Asking, Part::Stop) => Stage::Stopping,
            (Stage::Starting | Stage::Asking, Part::Answer) if asked > 0 => Stage::Answering,
            (Stage::Starting | Stage::Asking, Part::Redrive) if asked == 1 => Stage::Stopping,
            (Stage::Asking | Stage::Redriving, Part::Redrive) if asked == 2 => Stage::Answering,
            (Stage::Starting | Stage::Asking | Stage::Redriving, _) => Stage::Asking,
            (Stage::Stopping, Part::Redrive) => Stage::Redriving,
            (Stage::Stopping | Stage::Answering, _) => Stage::Watching,
            (Stage::Watching | Stage::Over, _) => Stage::Over,
        }
    }
}
