//! What each message does.

use everstep_history::{Attempt, Failure, FailureStage};
use everstep_interpreter::{Dialect, Input, Refusal, reported_by_code};
use everstep_store::{Batch, Space};

use super::Shard;
use super::slot::Slot;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::ExecutionId;
use crate::layout;
use crate::message::{Ended, Note, Reply, Start, Started};
use crate::task::Report;

impl Shard {
    /// A start that is repeated finds the execution it has started.
    pub(super) fn start(
        &mut self,
        start: Start,
        reply: Reply<Started>,
        watcher: Option<Reply<Ended>>,
        now_ms: i64,
    ) {
        match self.take(start.id) {
            None if start.prepared.revision.express && self.is_full_of_express() => {
                if let Some(watcher) = watcher {
                    watcher(Err(Error::Busy));
                }
                reply(Err(Error::Busy));
            }
            None => {
                let mut slot = Box::new(Slot::new(&start, now_ms));
                slot.watchers.extend(watcher);
                let started = Started { started_ms: now_ms, known: false };
                let after = vec![AfterCommit::reply(reply, Ok(started))];
                self.step(slot, [Input::Start { input: start.input }], now_ms, after);
            }
            Some(mut slot) => {
                let same = slot.is_running()
                    && slot.summary.revision == start.prepared.id
                    && *slot.execution.input() == start.input;
                let answer = if same {
                    slot.watchers.extend(watcher);
                    Ok(Started { started_ms: slot.summary.started_ms, known: true })
                } else {
                    let error = Error::AlreadyExists(Box::new(slot.summary.clone()));
                    if let Some(watcher) = watcher {
                        self.follow(
                            slot.ticket,
                            vec![AfterCommit::reply(watcher, Err(error.clone()))],
                        );
                    }
                    Err(error)
                };
                self.answer(slot, reply, answer, now_ms);
            }
        }
    }

    pub(super) fn report(
        &mut self,
        id: ExecutionId,
        attempt: Attempt,
        report: Report,
        reply: Option<Reply<()>>,
        now_ms: i64,
    ) {
        let reply = reply.unwrap_or_else(|| Box::new(|_| {}));
        let Some((slot, reply)) = self.take_or_refuse(id, reply) else { return };
        let dialect = slot.execution.program().dialect;
        let (started, input) = report.into_inputs(attempt, dialect);
        match slot.execution.accepts(&input, now_ms) {
            Ok(()) => {
                let after = vec![AfterCommit::reply(reply, Ok(()))];
                self.step(slot, started.into_iter().chain([input]), now_ms, after);
            }
            Err(Refusal::Repeated) => self.answer(slot, reply, Ok(()), now_ms),
            Err(refusal) => self.answer(slot, reply, Err(refusal.into()), now_ms),
        }
    }

    /// Not written down: after a crash every task has its whole interval again.
    pub(super) fn heartbeat(
        &mut self,
        id: ExecutionId,
        attempt: Attempt,
        reply: Reply<()>,
        now_ms: i64,
    ) {
        let Some((mut slot, reply)) = self.take_or_refuse(id, reply) else { return };
        let answer = slot.execution.heartbeat(attempt, now_ms).map_err(Error::from);
        self.answer(slot, reply, answer, now_ms);
    }

    /// Stopping what is over answers with the moment of its end.
    pub(super) fn stop(
        &mut self,
        id: ExecutionId,
        failure: Failure,
        reply: Reply<i64>,
        now_ms: i64,
    ) {
        let Some((slot, reply)) = self.take_or_refuse(id, reply) else { return };
        match slot.summary.stopped_ms {
            Some(stopped_ms) => self.answer(slot, reply, Ok(stopped_ms), now_ms),
            None => {
                let after = vec![AfterCommit::reply(reply, Ok(now_ms))];
                self.step(slot, [Input::Stop { failure }], now_ms, after);
            }
        }
    }

    pub(super) fn redrive(&mut self, id: ExecutionId, reply: Reply<i64>, now_ms: i64) {
        let Some((slot, reply)) = self.take_or_refuse(id, reply) else { return };
        let accepted = slot.execution.accepts(&Input::Redrive, now_ms).is_ok();
        if !accepted || !slot.is_durable() || self.is_expired(&slot, now_ms) {
            let error = Error::WrongStatus(Box::new(slot.summary.clone()));
            return self.answer(slot, reply, Err(error), now_ms);
        }
        let after = vec![AfterCommit::reply(reply, Ok(now_ms))];
        self.step(slot, [Input::Redrive], now_ms, after);
    }

    pub(super) fn watch(&mut self, id: ExecutionId, reply: Reply<Ended>, now_ms: i64) {
        let Some((mut slot, reply)) = self.take_or_refuse(id, reply) else { return };
        if slot.is_running() {
            slot.watchers.push(reply);
            self.put_back(slot, now_ms);
        } else {
            let ended = slot.ended();
            self.answer(slot, reply, Ok(ended), now_ms);
        }
    }

    /// The execution is not looked at, only whether it is there.
    pub(super) fn note(&mut self, id: ExecutionId, notes: Vec<Note>, reply: Reply<()>) {
        let row = self.shared.store.get(self.shard, Space::Executions, &layout::execution(id));
        match row {
            Ok(Some(_)) => {}
            Ok(None) => return reply(Err(Error::NotFound)),
            Err(error) => return reply(Err(error.into())),
        }
        let mut batch = Batch::new(self.shard);
        for Note { key, text } in notes {
            let key = layout::note(id, &key);
            match text {
                Some(text) => batch.put(Space::Catalog, key, text),
                None => batch.remove(Space::Catalog, key),
            }
        }
        let ticket = self.commit(batch, vec![AfterCommit::reply(reply, Ok(()))]);
        self.noting.insert(id, ticket);
    }

    pub(super) fn take_or_refuse<T>(
        &mut self,
        id: ExecutionId,
        reply: Reply<T>,
    ) -> Option<(Box<Slot>, Reply<T>)> {
        match self.take(id) {
            Some(slot) => Some((slot, reply)),
            None => {
                reply(Err(Error::NotFound));
                None
            }
        }
    }

    /// Answers when all that the answer rests on is durable.
    pub(super) fn answer<T: Send + 'static>(
        &mut self,
        slot: Box<Slot>,
        reply: Reply<T>,
        answer: Result<T>,
        now_ms: i64,
    ) {
        self.follow(slot.ticket, vec![AfterCommit::reply(reply, answer)]);
        self.put_back(slot, now_ms);
    }
}

impl Report {
    /// The input that a report is. It implies, unless it says otherwise, that the task has started:
    /// that comes first.
    fn into_inputs(self, attempt: Attempt, dialect: Dialect) -> (Option<Input>, Input) {
        let started = Some(Input::TaskStarted { attempt, worker: None });
        match self {
            Self::Started { worker } => (None, Input::TaskStarted { attempt, worker }),
            Self::Submitted { output } => (started, Input::TaskSubmitted { attempt, output }),
            Self::Succeeded { output } => (started, Input::TaskSucceeded { attempt, output }),
            Self::Failed { failure, stage } => {
                let started = match stage {
                    FailureStage::Schedule | FailureStage::Start => None,
                    FailureStage::Run | FailureStage::Submit => started,
                };
                (started, Input::TaskFailed { attempt, failure, stage })
            }
            Self::Raised { failure } => {
                let (failure, stage) = (reported_by_code(failure, dialect), FailureStage::Run);
                (started, Input::TaskFailed { attempt, failure, stage })
            }
            Self::MapRunFinished { children } => {
                (None, Input::MapRunFinished { attempt, children })
            }
            Self::MapRunFailed { failure } => (None, Input::MapRunFailed { attempt, failure }),
        }
    }
}
