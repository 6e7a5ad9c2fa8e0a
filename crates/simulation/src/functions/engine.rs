//! The engine of invocations as the world drives it: the only file that knows how its shards are opened and
//! reached.

use std::sync::Arc;

use everstep_invocations::{
    Acceptance, InvocationId, Message, Parts, Settings, Shard, Shared, Silent, Source, SourceKind,
    SystemClock,
};
use everstep_shards::Outside;

use super::destinations::Destinations;
use super::workers::Workers;
use crate::dice::Dice;
use crate::disk::Disk;
use crate::post::Post;

pub(crate) type Mailbox = Post<InvocationId, Message>;

impl everstep_shards::Mailbox<Message> for Mailbox {
    fn post(&self, message: Message) {
        self.put(message.id(), message);
    }
}

pub(crate) struct Engine {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    shards: Vec<Shard>,
    /// When each shard wants its next turn.
    pub(crate) next_ms: Vec<Option<i64>>,
}

impl Engine {
    pub(crate) fn new(
        disk: &Arc<Disk>,
        workers: &Arc<Workers>,
        destinations: &Arc<Destinations>,
        settings: &Settings,
    ) -> Self {
        let parts = Parts {
            store: disk.clone(),
            functions: workers.clone(),
            destinations: destinations.clone(),
            observer: Arc::new(Silent),
            // Shards are given the time with each call, and read no clock.
            clock: Arc::new(SystemClock),
            settings: settings.clone(),
        };
        let mailbox = Arc::new(Mailbox::default());
        let shared = Arc::new(Shared::new(parts, mailbox.clone()));
        Self { shared, mailbox, shards: Vec::new(), next_ms: Vec::new() }
    }

    pub(crate) fn open(&mut self, shards: u16, seed: u64, now_ms: i64) -> Result<(), String> {
        for number in 0..shards {
            let place = everstep_store::Shard(number);
            let shard = Shard::open(place, self.shared.clone(), seed, now_ms);
            self.shards.push(shard.map_err(|error| format!("shard {number}: {error}"))?);
        }
        self.next_ms = vec![Some(now_ms); self.shards.len()];
        Ok(())
    }

    /// Whether nothing can be done any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.shared.failure().is_some()
    }

    pub(crate) fn shard_count(&self) -> usize {
        self.shards.len()
    }

    pub(crate) fn handle(&mut self, message: Message, now_ms: i64) {
        let count = u16::try_from(self.shards.len()).unwrap_or(u16::MAX);
        let shard = usize::from(message.id().shard(count).0);
        self.shards[shard].handle(message, now_ms);
    }

    pub(crate) fn tick(&mut self, index: usize, now_ms: i64) -> Option<i64> {
        self.shards[index].tick(now_ms)
    }

    pub(crate) fn post(&self, message: Message) {
        self.mailbox.put(message.id(), message);
    }

    /// A message that the engine has sent to itself.
    pub(crate) fn next_message(&self, dice: &mut Dice) -> Option<Message> {
        self.mailbox.take(dice)
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.mailbox.is_empty()
    }

    /// The process dies. What its workers and destinations still hold must be gone before.
    pub(crate) fn die(&mut self) {
        self.shards.clear();
        self.mailbox.clear();
    }
}

/// What a message is, for the log.
pub(crate) fn name(message: &Message) -> &'static str {
    match message {
        Message::Accept { .. } => "accept",
        Message::AcceptAll { .. } => "accept all",
        Message::Call { .. } => "call",
        Message::Ready { .. } => "ready",
        Message::Claim { .. } => "claim",
        Message::Ended { .. } => "ended",
        Message::Cancel { .. } => "cancel",
        Message::Watch { .. } => "watch",
        Message::Redrive { .. } => "redrive",
        Message::Purge { .. } => "purge",
        Message::Release { .. } => "release",
        Message::Deliver { .. } => "deliver",
        Message::Delivered { .. } => "delivered",
        Message::Step { .. } => "step",
    }
}

/// An event from a client, a trigger or a notification.
pub(crate) fn acceptance(
    id: InvocationId,
    function: &str,
    source: &str,
    key: Option<String>,
    mode: Mode,
) -> Acceptance {
    Acceptance {
        id,
        function: function.to_owned(),
        payload: b"{}".to_vec(),
        source: Source::new(SourceKind::Invoke, source),
        key,
        mode: match mode {
            Mode::Asynchronous => everstep_invocations::Mode::Asynchronous,
            Mode::Synchronous => everstep_invocations::Mode::Synchronous,
            Mode::Unparseable => everstep_invocations::Mode::Unparseable,
        },
        session: None,
        handling: None,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Asynchronous,
    Synchronous,
    Unparseable,
}
