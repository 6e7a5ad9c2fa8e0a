//! How messages come into a queue.

use std::sync::Arc;

use super::Shard;
use crate::after_commit::AfterCommit;
use crate::content::Content;
use crate::error::{Error, Result};
use crate::id::{Fingerprint, Group, content_digest};
use crate::message::{Message, Seen, State};
use crate::queue::{Queue, Step};
use crate::request::{Reply, Sending, Sent};

impl Shard {
    /// One commit for all messages of a request; each has its own answer. None is sent if one of them is of the wrong
    /// kind for the queue.
    pub(super) fn send(
        &mut self,
        name: &str,
        mut sendings: Vec<Sending>,
        reply: Reply<Vec<Result<Sent>>>,
        now_ms: i64,
    ) {
        let mut queue = match self.take(name) {
            Ok(queue) => queue,
            Err(error) => return self.answer(reply, Err(error)),
        };
        let wrong = sendings.iter_mut().find_map(|sending| check_kind(&queue, sending).err());
        if let Some(error) = wrong {
            self.put_back(queue, now_ms);
            return self.answer(reply, Err(error));
        }
        let mut step = self.step(now_ms);
        let mut sent = Vec::with_capacity(sendings.len());
        for sending in sendings {
            sent.push(self.send_one(&mut queue, &mut step, sending));
        }
        self.commit(&mut queue, step, vec![AfterCommit::reply(reply, Ok(sent))]);
        self.serve(&mut queue, now_ms);
        self.put_back(queue, now_ms);
    }

    fn send_one(&self, queue: &mut Queue, step: &mut Step, sending: Sending) -> Result<Sent> {
        let Sending { id, content, delay_ms, key } = sending;
        let most = queue.record.attributes.bytes_max;
        if content.size() as u64 > most {
            return Err(Error::TooLarge { most });
        }
        let fingerprint = fingerprint(queue, &content, key.as_deref());
        if let Some(fingerprint) = fingerprint
            && let Some(seen) = self.seen(queue, fingerprint, step)?
        {
            let sequence = queue.is_fifo().then_some(seen.sequence);
            return Ok(Sent { id: seen.id, sequence, known: true });
        }
        let sequence = queue.draw_sequence();
        if let Some(fingerprint) = fingerprint {
            let seen = Seen { at_ms: step.now_ms, id, sequence };
            self.remember(queue, step, fingerprint, seen)?;
        }
        let group = group(queue, &content);
        let message = Message { id, content, sent_ms: step.now_ms, dead_letter_of: None };
        queue.put_message(step, sequence, Arc::new(message));
        let state = State::new(queue.arrival_ms(step.now_ms), group);
        let delay_ms = delay_ms.unwrap_or(queue.record.attributes.delay_ms);
        enter(queue, step, sequence, state, delay_ms);
        Ok(Sent { id, sequence: queue.is_fifo().then_some(sequence), known: false })
    }

    /// A message with this fingerprint that was sent within the last minutes.
    fn seen(&self, queue: &Queue, fingerprint: Fingerprint, step: &Step) -> Result<Option<Seen>> {
        let seen = queue.find_seen(fingerprint, &*self.shared.store, self.shard)?;
        let until = |seen: &Seen| seen.at_ms.saturating_add(self.shared.settings.seen_ms);
        Ok(seen.filter(|seen| step.now_ms < until(seen)))
    }

    fn remember(
        &self,
        queue: &mut Queue,
        step: &mut Step,
        fingerprint: Fingerprint,
        seen: Seen,
    ) -> Result<()> {
        let before = queue.find_seen(fingerprint, &*self.shared.store, self.shard)?;
        if let Some(before) = before {
            queue.remove_seen_at(step, before.at_ms, fingerprint);
        }
        queue.put_seen(step, fingerprint, seen);
        let due_ms = seen.at_ms.saturating_add(self.shared.settings.seen_ms);
        queue.seen_due_ms = Some(queue.seen_due_ms.map_or(due_ms, |before| before.min(due_ms)));
        Ok(())
    }
}

/// A message is ready, or hidden for a while. Those of a FIFO queue do not overtake each other.
pub(super) fn enter(
    queue: &mut Queue,
    step: &mut Step,
    sequence: u64,
    state: State,
    delay_ms: i64,
) {
    let due_ms = step.now_ms.saturating_add(delay_ms);
    if queue.is_fifo() && queue.counts.delayed > 0 {
        let due_ms = due_ms.max(queue.delays.last_ms);
        queue.add_delayed(step, due_ms, sequence, state);
    } else if delay_ms > 0 {
        queue.add_delayed(step, due_ms, sequence, state);
    } else {
        queue.add_ready(step, sequence, state);
    }
}

/// The group whose messages are in order, if there is one.
pub(super) fn group(queue: &Queue, content: &Content) -> Option<Group> {
    content.group.as_deref().filter(|_| queue.is_fifo()).map(Group::named)
}

/// Whether a message has what those of its queue have. It gets the deduplication id that it lacks.
fn check_kind(queue: &Queue, sending: &mut Sending) -> Result<()> {
    let content = &mut sending.content;
    let Some(fifo) = &queue.record.attributes.fifo else {
        let refused = content.deduplication_id.is_some();
        return if refused { Err(Error::NotFifo) } else { Ok(()) };
    };
    if sending.delay_ms.is_some_and(|delay_ms| delay_ms != 0) {
        return Err(Error::DelayInFifo);
    }
    if content.group.is_none() {
        return Err(Error::NoGroup);
    }
    if content.deduplication_id.is_none() {
        if !fifo.content_based {
            return Err(Error::NoDeduplicationId);
        }
        content.deduplication_id = Some(content_digest(&content.body));
    }
    Ok(())
}

fn fingerprint(queue: &Queue, content: &Content, key: Option<&str>) -> Option<Fingerprint> {
    if let Some(key) = key {
        return Some(Fingerprint::of_delivery(key));
    }
    let fifo = queue.record.attributes.fifo.as_ref()?;
    let group = content.group.as_deref().filter(|_| fifo.by_group);
    content.deduplication_id.as_deref().map(|id| Fingerprint::of_id(id, group))
}
