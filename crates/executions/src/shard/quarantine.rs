//! Executions that are not continued, because they have ended the engine or panicked: see [`Quarantine`].
//!
//! They stay in the store as they are, and can be read, watched, stopped and released. An execution that was never stored
//! could do harm again whenever somebody starts it, and nobody would find it: so its start is stored before anything else.

use std::sync::Arc;

use everstep_interpreter::{Execution, Input};
use everstep_shards::Quarantine;
use everstep_store::{Batch, Shard as StoreShard, Space};

use super::Shard;
use super::slot::Slot;
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::{ExecutionId, KIND};
use crate::layout;
use crate::message::{Ended, Message, Reply};
use crate::shared::Shared;
use crate::summary::Summary;
use crate::work::{Panicked, decide};

/// What a shard knows of failures, and what it need not know any more.
pub(super) fn read(
    shared: &Shared,
    shard: StoreShard,
    now_ms: i64,
) -> Result<(Quarantine<ExecutionId>, Batch)> {
    let store = &*shared.store;
    let is_stored = |id| Ok(store.get(shard, Space::Executions, &layout::execution(id))?.is_some());
    let register = shared.quarantine.clone();
    Ok(Quarantine::open(store, shard, KIND, register, now_ms, is_stored)?)
}

impl Shard {
    /// Names all who are quarantined, once for each start.
    pub(super) fn open_quarantine(&mut self, forgotten: Batch) -> Result<()> {
        if !forgotten.is_empty() {
            self.commit(forgotten, Vec::new());
        }
        for (id, held) in self.quarantine.held() {
            if let Some(summary) = self.stored_summary(id)? {
                self.shared.observer.quarantined(&summary.arn, &held.why);
            }
        }
        Ok(())
    }

    fn stored_summary(&self, id: ExecutionId) -> Result<Option<Summary>> {
        let key = layout::execution(id);
        let row = self.shared.store.get(self.shard, Space::Executions, &key)?;
        Ok(row.map(|row| Summary::decode(&row)).transpose()?)
    }

    /// Should the engine die from now on, this execution may be why.
    pub(super) fn begin_work(&self, slot: &Slot) {
        if slot.is_durable() {
            self.shared.in_flight.begin(slot.id.subject());
        }
    }

    /// Whether nothing is evaluated before the start of an execution is stored.
    pub(super) fn is_stored_first(&self, slot: &Slot) -> bool {
        slot.sequence == 0 && slot.is_durable() && self.quarantine.is_suspect(slot.id)
    }

    /// Nothing is known against an execution that makes a step. That its start was stored is none.
    pub(super) fn completes_a_step(&mut self, slot: &Slot, batch: &mut Batch) {
        if slot.sequence > 0 {
            self.quarantine.forget(slot.id, batch);
        }
    }

    /// A decision has panicked. Only this execution has seen that, and it does not continue.
    pub(super) fn panicked(
        &mut self,
        id: ExecutionId,
        mut panicked: Panicked,
        after: Vec<AfterCommit>,
        now_ms: i64,
    ) {
        let slot = panicked.slot.take();
        if slot.as_ref().is_some_and(|slot| !slot.is_durable()) {
            return self.express_panicked(slot, &panicked, after);
        }
        let error = self.quarantine(id, &panicked, now_ms);
        match slot {
            Some(slot) if slot.sequence == 0 => self.store_start(slot, after, now_ms),
            slot => {
                after.into_iter().for_each(|effect| effect.answer(&error));
                self.keep_watchers(id, slot.map(|slot| slot.watchers).unwrap_or_default());
            }
        }
    }

    /// Nothing of it is stored, so it ends here.
    fn express_panicked(
        &self,
        slot: Option<Box<Slot>>,
        panicked: &Panicked,
        after: Vec<AfterCommit>,
    ) {
        let error = Error::Panicked(panicked.why());
        after.into_iter().for_each(|effect| effect.answer(&error));
        let Some(slot) = slot else { return };
        self.shared.observer.stuck(slot.id, &error);
        slot.watchers.into_iter().for_each(|watcher| watcher(Err(error.clone())));
    }

    /// Does not let an execution continue, and counts why.
    pub(super) fn quarantine(
        &mut self,
        id: ExecutionId,
        panicked: &Panicked,
        now_ms: i64,
    ) -> Error {
        let mut batch = Batch::new(self.shard);
        let why = self.quarantine.panicked(id, &panicked.why(), now_ms, &mut batch);
        self.commit(batch, Vec::new());
        let error = Error::Quarantined(why.clone());
        match self.stored_summary(id) {
            Ok(Some(summary)) => self.shared.observer.quarantined(&summary.arn, &why),
            Ok(None) | Err(_) => self.shared.observer.stuck(id, &error),
        }
        error
    }

    /// The first decision has panicked: that the execution was started is stored, and no more.
    fn store_start(&mut self, mut slot: Box<Slot>, after: Vec<AfterCommit>, now_ms: i64) {
        let input = slot.execution.input().clone();
        let identity = slot.prepared.identity(&slot.summary.arn);
        slot.execution = Execution::new(slot.prepared.program.clone(), identity);
        slot.is_unfinished = false;
        let (start, turn) = ((Input::Start { input }, self.draw()), self.turn(&slot));
        match decide(slot, vec![start], now_ms, &[], &turn) {
            Ok(decision) => {
                let slot = self.write(decision, now_ms, after);
                self.put_back(slot, now_ms);
            }
            Err(panicked) => {
                let error = Error::Quarantined(panicked.why());
                after.into_iter().for_each(|effect| effect.answer(&error));
            }
        }
    }

    /// Who waits for the end of an execution does so when it has left memory as well.
    fn keep_watchers(&self, id: ExecutionId, watchers: Vec<Reply<Ended>>) {
        for reply in watchers {
            self.shared.mailbox.post(Message::Watch { id, reply });
        }
    }

    /// Lets an execution in quarantine continue, as after a start.
    pub(super) fn release(&mut self, id: ExecutionId, reply: Reply<bool>) {
        let mut batch = Batch::new(self.shard);
        let was_held = self.quarantine.forget(id, &mut batch);
        if was_held {
            let watchers = self.take(id).map(|slot| slot.watchers).unwrap_or_default();
            self.keep_watchers(id, watchers);
            self.released.insert(id);
            self.unrecovered.insert(id);
            self.recovery.push_back(id);
        }
        let answer = vec![AfterCommit::reply(reply, Ok(was_held))];
        if batch.is_empty() {
            self.follow(self.ledger.last(), answer);
        } else {
            self.commit(batch, answer);
        }
    }
}

impl Panicked {
    fn why(&self) -> Arc<str> {
        format!("a decision panicked: {}", self.message).into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Mutex, mpsc};

    use everstep_history::{Failure, Payload};
    use everstep_interpreter::Status;
    use everstep_shards::{FAILURES_MAX, Mailbox, Outside as _, record_deaths};
    use everstep_store::{MemoryStore, Store as _};
    use serde_json::json;

    use super::*;
    use crate::message::Start;
    use crate::observer::Observer;
    use crate::reader::Reader;
    use crate::revision::Revision;
    use crate::settings::Settings;
    use crate::shared::Parts;
    use crate::task::{Cancelled, Task, TaskRunner};
    use crate::work::{Decided, Job, Pool, Work};

    const NOW_MS: i64 = 1_700_000_000_000;
    const SHARD: StoreShard = StoreShard(0);
    const ARN: &str = "arn:aws:states:us-east-1:1:execution:m:e";

    /// What is around a shard: decides at once, and panics where it is told to.
    #[derive(Default)]
    struct Outside {
        panics: AtomicBool,
        posted: Mutex<Vec<Message>>,
        named: Mutex<Vec<String>>,
    }

    impl Pool for Outside {
        fn run(&self, work: Work) {
            let mailbox = work.mailbox.clone();
            match work.job {
                Job::Decide(deciding) if self.panics.load(Ordering::Relaxed) => {
                    let (slot, inputs, turn) = (deciding.slot, deciding.inputs, deciding.turn);
                    let (id, after) = (slot.id, deciding.after);
                    // It has changed when it panics.
                    let decided = decide(slot, inputs, deciding.now_ms, &[], &turn);
                    let slot = decided.ok().map(|decision| decision.slot);
                    let outcome = Err(Panicked { message: "odd".into(), slot });
                    mailbox.post(Message::Decided(Decided { id, outcome, after }));
                }
                _ => work.run(),
            }
        }
    }

    impl Mailbox<Message> for Outside {
        fn post(&self, message: Message) {
            self.posted.lock().expect("no thread panics").push(message);
        }
    }

    impl Observer for Outside {
        fn quarantined(&self, arn: &str, _why: &str) {
            self.named.lock().expect("no thread panics").push(arn.to_owned());
        }
    }

    impl TaskRunner for Outside {
        fn dispatch(&self, _task: Task) {}

        fn cancel(&self, _cancelled: Cancelled) {}
    }

    struct Stage {
        store: Arc<MemoryStore>,
        outside: Arc<Outside>,
        shared: Arc<Shared>,
        shard: Shard,
    }

    impl Stage {
        fn open(store: Arc<MemoryStore>) -> Self {
            let outside = Arc::<Outside>::default();
            let settings = Settings { heavy_bytes: 0, ..Settings::default() };
            let (runner, observer) = (outside.clone(), outside.clone());
            let parts = Parts { store: store.clone(), runner, observer, settings };
            let reader = Reader::new(store.clone());
            let (mailbox, pool) = (outside.clone(), outside.clone());
            let shared = Shared::with(parts, reader, mailbox, pool, Default::default());
            let shared = Arc::new(shared);
            let shard = Shard::open(SHARD, shared.clone(), 1, NOW_MS).expect("it opens");
            Self { store, outside, shared, shard }
        }

        fn new() -> Self {
            Self::open(Arc::new(MemoryStore::new(1)))
        }

        fn restart(self) -> Self {
            let mut stage = Self::open(self.store);
            stage.settle();
            stage
        }

        /// The engine dies while it works on the execution.
        fn die(self) -> Self {
            record_deaths(&*self.store, &[ExecutionId::of(ARN).subject()], NOW_MS).expect("stored");
            self.restart()
        }

        fn settle(&mut self) {
            for _ in 0..100 {
                let (_, troubles) = self.shard.tick(NOW_MS);
                assert!(troubles.is_empty(), "{troubles:?}");
                let posted = std::mem::take(&mut *self.outside.posted.lock().expect("unpoisoned"));
                for message in posted {
                    self.shard.handle(message, NOW_MS);
                }
            }
            assert_eq!(self.shared.failure(), None);
        }

        fn send<T: Send + 'static>(
            &mut self,
            message: impl FnOnce(Reply<T>) -> Message,
        ) -> mpsc::Receiver<Result<T>> {
            let (sender, receiver) = mpsc::channel();
            let reply = Box::new(move |answer| drop(sender.send(answer)));
            self.shard.handle(message(reply), NOW_MS);
            self.settle();
            receiver
        }

        fn ask<T: Send + 'static>(
            &mut self,
            message: impl FnOnce(Reply<T>) -> Message,
        ) -> Result<T> {
            self.send(message).try_recv().expect("an answer")
        }

        /// Starts an execution that waits for a second state's evaluation in the same turn.
        fn start(&mut self, is_express: bool) -> Result<()> {
            let definition = json!({"StartAt": "A", "States": {
                "A": {"Type": "Pass", "Parameters": {"x.$": "States.Format('{}', $.y)"}, "End": true},
            }});
            let revision = Revision::new("arn:m", "r", &definition.to_string());
            let revision = if is_express { revision.express() } else { revision };
            let prepared = self.shared.prepare(revision, Box::new(|_| {})).expect("valid");
            let start = Start::new(ARN, prepared, Payload::new(json!({"y": 1})));
            let start = Box::new(start);
            self.ask(|reply| Message::Start { start, reply, watcher: None }).map(|_| ())
        }

        fn panic(&self, panics: bool) {
            self.outside.panics.store(panics, Ordering::Relaxed);
        }

        fn events(&self) -> usize {
            self.shared.reader().events(ExecutionId::of(ARN)).expect("readable").len()
        }

        fn quarantined(&self) -> Vec<String> {
            let found = self.shared.reader().quarantined(10).expect("readable");
            found.into_iter().map(|(summary, _)| summary.arn).collect()
        }

        fn release(&mut self) -> bool {
            let id = ExecutionId::of(ARN);
            self.ask(|reply| Message::Release { id, reply }).expect("released")
        }

        fn watch(&mut self) -> mpsc::Receiver<Result<Ended>> {
            let id = ExecutionId::of(ARN);
            self.send(|reply| Message::Watch { id, reply })
        }
    }

    /// An execution that was started, and whose next decision was cut off by so many deaths in a row.
    fn after_deaths(deaths: u32) -> Stage {
        let mut stage = Stage::new();
        stage.panic(true);
        stage.start(false).expect("its start is stored");
        stage.panic(false);
        let mut batch = Batch::new(SHARD);
        assert!(stage.shard.quarantine.forget(ExecutionId::of(ARN), &mut batch));
        stage.store.commit(batch, Box::new(|done| done.expect("written")));
        for _ in 1..deaths {
            let id = ExecutionId::of(ARN);
            record_deaths(&*stage.store, &[id.subject()], NOW_MS).expect("stored");
        }
        stage.die()
    }

    #[test]
    fn one_that_panics_is_stored_and_tried_again_by_the_next_engine() {
        let mut stage = Stage::new();
        stage.panic(true);
        stage.start(false).expect("its start is stored");
        assert_eq!((stage.events(), stage.quarantined()), (1, vec![ARN.to_owned()]));
        let stage = stage.restart();
        assert_eq!((stage.events(), stage.quarantined()), (4, vec![]));
    }

    #[test]
    fn one_that_panics_again_and_again_is_not_tried_any_more() {
        let mut stage = Stage::new();
        stage.panic(true);
        stage.start(false).expect("its start is stored");
        for _ in 1..FAILURES_MAX {
            stage = Stage::open(stage.store);
            assert_eq!(stage.quarantined(), Vec::<String>::new());
            stage.panic(true);
            stage.settle();
            assert_eq!(stage.quarantined(), [ARN]);
        }
        let mut stage = stage.restart();
        assert_eq!((stage.events(), stage.quarantined()), (1, vec![ARN.to_owned()]));
        assert!(stage.release() && stage.quarantined().is_empty());
        assert_eq!(stage.events(), 4);
    }

    #[test]
    fn one_that_ends_the_engine_three_times_in_a_row_is_quarantined() {
        let stage = after_deaths(FAILURES_MAX - 1);
        assert_eq!((stage.events(), stage.quarantined()), (4, vec![]));
        let mut stage = after_deaths(FAILURES_MAX);
        assert_eq!((stage.events(), stage.quarantined()), (1, vec![ARN.to_owned()]));
        assert_eq!(*stage.outside.named.lock().expect("unpoisoned"), [ARN], "in the log");
        assert!(stage.shard.is_recovered(), "nobody waits for it");
        assert!(stage.start(false).is_ok(), "who starts it again finds it");
        assert_eq!(stage.events(), 1);
        // Whoever waits for it learns of its end.
        let watcher = stage.watch();
        assert!(watcher.try_recv().is_err());
        assert!(stage.release());
        let ended = watcher.try_recv().expect("an end").expect("it has ended");
        assert!(matches!(ended.status, Status::Succeeded { .. }), "{:?}", ended.status);
        assert!(!stage.release(), "it is not quarantined any more");
        let stage = stage.restart();
        assert_eq!((stage.events(), stage.quarantined()), (4, vec![]));
    }

    #[test]
    fn one_that_is_quarantined_can_be_stopped() {
        let mut stage = after_deaths(FAILURES_MAX);
        let watcher = stage.watch();
        let (id, failure) = (ExecutionId::of(ARN), Failure::new("E", "enough"));
        stage.ask(|reply| Message::Stop { id, failure, reply }).expect("it stops");
        let ended = watcher.try_recv().expect("an end").expect("it has ended");
        assert!(matches!(ended.status, Status::Aborted { .. }));
        assert_eq!(stage.quarantined(), Vec::<String>::new());
        assert_eq!(stage.restart().quarantined(), Vec::<String>::new());
    }

    #[test]
    fn one_that_ends_the_engine_before_it_is_stored_is_stored_first() {
        let mut stage = Stage::new().die();
        // A parent starts its child again after each death.
        stage.start(false).expect("it starts");
        assert_eq!(stage.events(), 4);
        let steps = |stage: &Stage| {
            let from = layout::steps(NOW_MS, ExecutionId::of(ARN));
            let to = everstep_store::after_prefix(&from);
            let scan = everstep_store::Scan::between(&from, &to, 10);
            stage.store.scan(SHARD, Space::Journal, scan).expect("readable").len()
        };
        assert_eq!(steps(&stage), 2, "its start, and the rest");
        let mut other = Stage::new();
        other.start(false).expect("it starts");
        assert_eq!(steps(&other), 1);
    }

    #[test]
    fn an_express_execution_that_panics_has_ended() {
        let mut stage = Stage::new();
        stage.panic(true);
        let error = stage.start(true).expect_err("it cannot be stored");
        assert!(matches!(error, Error::Panicked(_)), "{error}");
        assert_eq!(stage.quarantined(), Vec::<String>::new());
        stage.panic(false);
        stage.start(true).expect("another of that name");
    }
}
