//! Events of running functions, for an observer.
//!
//! A thread of its own delivers them from a bounded queue. A slow observer loses events; it never uses more
//! memory and never slows a function down.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Events that can be queued.
const QUEUE_MAX: usize = 1024;

pub trait Observer: Send + Sync {
    /// Called for one event after the other, on one thread.
    fn observe(&self, event: &Event);
}

/// Observes nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&self, _event: &Event) {}
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A line of a process, without its end; of a line that is too long, a piece.
    Line {
        function: Arc<str>,
        pid: u32,
        tag: Option<Arc<Tag>>,
        stream: Stream,
        text: Arc<str>,
    },
    Started {
        function: Arc<str>,
        pid: u32,
    },
    /// `how` as in `exit status 3`.
    Ended {
        function: Arc<str>,
        pid: u32,
        how: String,
    },
    /// Something that no well-behaved function does, and what was done about it.
    Misbehaved {
        function: Arc<str>,
        pid: u32,
        what: String,
    },
    /// Somebody else tried to use the Runtime API of a process. Sent for the first of such connections.
    Refused {
        function: Arc<str>,
        pid: u32,
        what: String,
    },
    /// A process that an earlier host has left behind was killed.
    Reaped {
        pid: u32,
    },
    /// The queue was full: this many events were dropped.
    Lost {
        events: u64,
    },
}

/// The call that a process had in hand when it wrote a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tag {
    pub request_id: String,
    pub attempt: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Sends events to the observer without waiting.
#[derive(Clone)]
pub(crate) struct EventQueue {
    queue: SyncSender<Event>,
    lost: Arc<AtomicU64>,
}

impl EventQueue {
    pub(crate) fn new(observer: Arc<dyn Observer>) -> std::io::Result<Self> {
        let (queue, events) = sync_channel(QUEUE_MAX);
        let lost = Arc::new(AtomicU64::new(0));
        let counted = lost.clone();
        thread::Builder::new()
            .name("everstep-observer".to_owned())
            .spawn(move || deliver(&*observer, &events, &counted))?;
        Ok(Self { queue, lost })
    }

    pub(crate) fn send(&self, event: Event) {
        if self.queue.try_send(event).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

fn deliver(observer: &dyn Observer, events: &Receiver<Event>, lost: &AtomicU64) {
    for event in events {
        let events = lost.swap(0, Ordering::Relaxed);
        if events > 0 {
            observer.observe(&Event::Lost { events });
        }
        observer.observe(&event);
    }
}
