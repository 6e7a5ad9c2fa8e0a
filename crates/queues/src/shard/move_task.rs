//! Tasks that move the messages of a queue, a few at a time.

use everstep_store::Space;

use super::Shard;
use super::move_out::{Leaving, Reason};
use crate::after_commit::AfterCommit;
use crate::error::{Error, Result};
use crate::id::{Recipient, shard_of};
use crate::layout;
use crate::message::Message;
use crate::move_task::{MoveStatus, MoveTask, MoveTaskId, REMEMBERED};
use crate::queue::{Queue, Step};
use crate::request::Reply;

/// Messages that one commit is about.
const AT_A_TIME: usize = 100;
/// How long others have their turn before the next are moved.
const PAUSE_MS: i64 = 10;
const SECOND_MS: i64 = 1000;

/// Why a task cannot continue, as SQS names it.
const NO_QUEUE: &str = "AWS.SimpleQueueService.NonExistentQueue";
const NO_SOURCE: &str = "CouldNotDetermineMessageSource";

impl Shard {
    pub(super) fn start_move(
        &mut self,
        name: &str,
        destination: Option<String>,
        per_second: Option<u32>,
        reply: Reply<MoveTaskId>,
        now_ms: i64,
    ) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        if queue.record.running_task().is_some() {
            self.put_back(queue, now_ms);
            return self.answer(reply, Err(Error::TaskRuns));
        }
        let id = MoveTaskId(queue.record.move_tasks.first().map_or(1, |last| last.id.0 + 1));
        let task = MoveTask {
            id,
            destination,
            per_second,
            status: MoveStatus::Running,
            moved: 0,
            to_move: queue.counts.ready,
            started_ms: now_ms,
            below: queue.next_sequence,
        };
        let record = queue.change_record();
        record.move_tasks.insert(0, task);
        record.move_tasks.truncate(REMEMBERED);
        queue.task_ms = Some(now_ms);
        let step = self.step(now_ms);
        self.commit(&mut queue, step, vec![AfterCommit::reply(reply, Ok(id))]);
        self.put_back(queue, now_ms);
    }

    pub(super) fn cancel_move(
        &mut self,
        name: &str,
        task: MoveTaskId,
        reply: Reply<u64>,
        now_ms: i64,
    ) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        let moved = match queue.record.running_task() {
            Some(running) if running.id == task => Ok(running.moved),
            _ => Err(Error::NoSuchTask),
        };
        if moved.is_ok() {
            end(&mut queue, MoveStatus::Cancelled);
        }
        let step = self.step(now_ms);
        self.commit(&mut queue, step, vec![AfterCommit::reply(reply, moved)]);
        self.put_back(queue, now_ms);
    }

    /// Moves some more messages, if it is time.
    pub(super) fn continue_move(&mut self, queue: &mut Queue, now_ms: i64) -> Result<()> {
        if queue.task_ms.is_none_or(|task_ms| task_ms > now_ms) {
            return Ok(());
        }
        let Some(task) = queue.record.running_task().cloned() else {
            queue.task_ms = None;
            return Ok(());
        };
        let mut step = self.step(now_ms);
        let mut after = Vec::new();
        let most = task.per_second.map_or(AT_A_TIME, |limit| (limit as usize).min(AT_A_TIME));
        let moved = self.move_some(queue, &mut step, &task, most, &mut after)?;
        if let Some(task) = queue.change_record().move_tasks.first_mut() {
            task.moved += moved as u64;
        }
        if queue.task_ms.is_some() {
            let pause_ms = pause_ms(moved, task.per_second);
            queue.task_ms = Some(now_ms.saturating_add(pause_ms));
        }
        self.commit(queue, step, after);
        Ok(())
    }

    /// Moves messages; how many. The task ends if there are no more, or if one cannot be moved.
    fn move_some(
        &mut self,
        queue: &mut Queue,
        step: &mut Step,
        task: &MoveTask,
        most: usize,
        after: &mut Vec<AfterCommit>,
    ) -> Result<usize> {
        let mut moved = 0;
        while moved < most {
            queue.read_ready(&*self.shared.store, self.shard)?;
            let first = queue.line.first().filter(|(sequence, _)| *sequence < task.below);
            let Some((sequence, state)) = first else {
                end(queue, MoveStatus::Completed);
                break;
            };
            let Some(message) = self.readable(queue, sequence) else { continue };
            let target = match self.target(&message, task)? {
                Ok(target) => target,
                Err(reason) => {
                    end(queue, MoveStatus::Failed(reason.to_owned()));
                    break;
                }
            };
            if !self.outbox.has_room(&Recipient::named(&target)) {
                break;
            }
            queue.remove_ready(step, sequence);
            let leaving =
                Leaving { sequence, message, state: &state, reason: Reason::Task(target) };
            self.move_out(queue, step, leaving, after);
            moved += 1;
        }
        Ok(moved)
    }

    /// The queue that a message is moved to, or why it cannot be moved.
    fn target(
        &self,
        message: &Message,
        task: &MoveTask,
    ) -> Result<std::result::Result<String, &'static str>> {
        let target = task.destination.as_ref().or(message.dead_letter_of.as_ref());
        let Some(target) = target.cloned() else { return Ok(Err(NO_SOURCE)) };
        // It may be in another shard; the store shows whether it exists.
        let shard = shard_of(&target, self.shared.store.shards());
        let found = self.shared.store.get(shard, Space::Queues, &layout::queue(&target))?;
        let exists = found.is_some() || self.queues.contains_key(target.as_str());
        Ok(if exists { Ok(target) } else { Err(NO_QUEUE) })
    }
}

fn end(queue: &mut Queue, status: MoveStatus) {
    queue.task_ms = None;
    if let Some(task) = queue.change_record().move_tasks.first_mut() {
        task.status = status;
    }
}

/// How long after so many messages the next may follow.
fn pause_ms(moved: usize, per_second: Option<u32>) -> i64 {
    let moved = i64::try_from(moved).unwrap_or(i64::MAX);
    per_second.map_or(0, |limit| (moved * SECOND_MS) / i64::from(limit.max(1))).max(PAUSE_MS)
}
