//! All that was ever written down of executions, read off the batches as they pass by.
//!
//! It does not ask the runtime: it knows the keys of the journal and of the executions by itself, and
//! what of them would survive a crash.

use std::collections::BTreeMap;

use everstep_executions::{ExecutionId, Prepared};
use everstep_history::{Event, journal};
use everstep_interpreter::Execution;
use everstep_store::{Batch, Space, Write};

#[derive(Default)]
pub(crate) struct Ledger {
    lives: BTreeMap<ExecutionId, Vec<Life>>,
}

/// An execution from its start to its removal. A name may be given again after that.
pub(crate) struct Life {
    pub(crate) id: ExecutionId,
    pub(crate) arn: String,
    pub(crate) steps: Vec<Step>,
    /// The fold of all steps.
    pub(crate) execution: Execution,
    /// The batch that removed the first of its steps, and the one that removed its row.
    pub(crate) fading: Option<u64>,
    pub(crate) gone: Option<u64>,
    /// It has changed since checkers last saw it.
    pub(crate) fresh: bool,
}

pub(crate) struct Step {
    /// The number of its batch.
    pub(crate) batch: u64,
    pub(crate) generation: u32,
    /// The engine's clock when it was handed over.
    pub(crate) handed_ms: i64,
    pub(crate) events: Vec<Event>,
}

/// When a batch was handed over.
#[derive(Clone, Copy)]
pub(crate) struct Moment {
    pub(crate) batch: u64,
    pub(crate) generation: u32,
    pub(crate) now_ms: i64,
}

impl Life {
    fn new(id: ExecutionId, arn: &str, prepared: &Prepared) -> Self {
        let execution = Execution::new(prepared.program.clone(), prepared.identity(arn));
        let (arn, steps) = (arn.to_owned(), Vec::new());
        Self { id, arn, steps, execution, fading: None, gone: None, fresh: true }
    }

    pub(crate) fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.steps.iter().flat_map(|step| &step.events)
    }

    /// Events of the steps up to a batch.
    pub(crate) fn events_to(&self, batch: u64) -> impl DoubleEndedIterator<Item = &Event> {
        self.steps.iter().filter(move |step| step.batch <= batch).flat_map(|step| &step.events)
    }

    pub(crate) fn is_there(&self) -> bool {
        self.fading.is_none() && self.gone.is_none()
    }

    /// The moment of its end, if it is over.
    pub(crate) fn stopped_ms(&self) -> Option<i64> {
        let last = self.events().next_back()?;
        is_end(last).then(|| last.at_ms())
    }
}

pub(crate) fn is_end(event: &Event) -> bool {
    matches!(
        event,
        Event::ExecutionSucceeded { .. }
            | Event::ExecutionFailed { .. }
            | Event::ExecutionTimedOut { .. }
            | Event::ExecutionAborted { .. }
    )
}

impl Ledger {
    /// Takes what a batch writes; what is wrong with it, if anything.
    pub(crate) fn take<'p>(
        &mut self,
        batch: &Batch,
        moment: Moment,
        who: impl Fn(ExecutionId) -> Option<(&'p str, &'p Prepared)>,
    ) -> Result<Vec<ExecutionId>, (Option<ExecutionId>, String)> {
        let mut touched = Vec::new();
        for Write { space, key, value } in &batch.writes {
            // The journal is in the order of starts: a moment comes first.
            let id = if *space == Space::Journal { key.get(8..24) } else { key.get(..16) };
            let id = id.and_then(ExecutionId::from_bytes);
            match (space, value) {
                (Space::Journal, Some(record)) => {
                    let id = id.ok_or((None, "a key of the journal is too short".to_owned()))?;
                    let (arn, prepared) = who(id).ok_or((
                        None,
                        format!("{id:?} is an execution that no client has started"),
                    ))?;
                    self.write(id, arn, prepared, key, record, moment)
                        .map_err(|what| (Some(id), what))?;
                    touched.push(id);
                }
                (Space::Journal, None) => {
                    if let Some(life) = id.and_then(|id| self.last_mut(id)) {
                        life.fading.get_or_insert(moment.batch);
                    }
                }
                (Space::Executions, None) => {
                    if let Some(life) = id.and_then(|id| self.last_mut(id)) {
                        life.gone.get_or_insert(moment.batch);
                    }
                }
                _ => {}
            }
        }
        Ok(touched)
    }

    fn write(
        &mut self,
        id: ExecutionId,
        arn: &str,
        prepared: &Prepared,
        key: &[u8],
        record: &[u8],
        moment: Moment,
    ) -> Result<(), String> {
        let events =
            journal::decode(record).map_err(|error| format!("a step cannot be read: {error}"))?;
        let lives = self.lives.entry(id).or_default();
        if lives.last().is_none_or(|life| life.gone.is_some()) {
            lives.push(Life::new(id, arn, prepared));
        }
        let life = lives.last_mut().ok_or("a life was just added")?;
        let number = key.get(24..).and_then(|tail| tail.try_into().ok()).map(u32::from_be_bytes);
        if number.map(|number| number as usize) != Some(life.steps.len()) {
            return Err(format!("step {number:?} follows {} others", life.steps.len()));
        }
        if life.fading.is_some() {
            return Err("a step is added to an execution that is being removed".to_owned());
        }
        for event in &events {
            life.execution.apply(event);
        }
        life.fresh = true;
        let Moment { batch, generation, now_ms: handed_ms } = moment;
        life.steps.push(Step { batch, generation, handed_ms, events });
        Ok(())
    }

    /// Forgets what did not survive, and folds the rest by the programs of the new engine.
    pub(crate) fn crash<'p>(
        &mut self,
        durable_to: u64,
        prepared: impl Fn(ExecutionId) -> Option<&'p Prepared>,
    ) {
        for (id, lives) in &mut self.lives {
            for life in lives.iter_mut() {
                life.steps.retain(|step| step.batch <= durable_to);
                life.fading = life.fading.filter(|batch| *batch <= durable_to);
                life.gone = life.gone.filter(|batch| *batch <= durable_to);
                if let Some(prepared) = prepared(*id) {
                    life.execution =
                        Execution::new(prepared.program.clone(), prepared.identity(&life.arn));
                }
                for event in life.steps.iter().flat_map(|step| &step.events) {
                    life.execution.apply(event);
                }
            }
            lives.retain(|life| !life.steps.is_empty());
        }
        self.lives.retain(|_, lives| !lives.is_empty());
    }

    fn last_mut(&mut self, id: ExecutionId) -> Option<&mut Life> {
        self.lives.get_mut(&id)?.last_mut()
    }

    /// The last execution of that name, removed or not.
    pub(crate) fn last(&self, id: ExecutionId) -> Option<&Life> {
        self.lives.get(&id)?.last()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Life> {
        self.lives.values().flatten()
    }

    pub(crate) fn of(&self, id: ExecutionId) -> impl DoubleEndedIterator<Item = &Life> {
        self.lives.get(&id).into_iter().flatten()
    }

    /// Executions that are there now.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Life> {
        self.lives.values().filter_map(|lives| lives.last()).filter(|life| life.is_there())
    }

    pub(crate) fn mark_seen(&mut self) {
        self.lives.values_mut().flatten().for_each(|life| life.fresh = false);
    }
}
