//! Receives that wait for a message, answered in the order in which they came.

use std::collections::VecDeque;

use crate::request::{Receive, Received, Reply};

pub(crate) struct Waiter {
    pub(crate) receive: Receive,
    pub(crate) reply: Reply<Vec<Received>>,
    /// When it is answered that there is none.
    pub(crate) until_ms: i64,
}

pub(crate) struct Waiters {
    waiting: VecDeque<Waiter>,
    /// None waits for less long than until then.
    soonest_ms: i64,
}

impl Default for Waiters {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), soonest_ms: i64::MAX }
    }
}

impl Waiters {
    pub(crate) fn push(&mut self, waiter: Waiter) {
        self.soonest_ms = self.soonest_ms.min(waiter.until_ms);
        self.waiting.push_back(waiter);
    }

    /// The first that still waits. Those that have gone are dropped.
    pub(crate) fn pop(&mut self) -> Option<Waiter> {
        while let Some(waiter) = self.waiting.pop_front() {
            if !waiter.receive.cancelled.is_set() {
                return Some(waiter);
            }
            (waiter.reply)(Ok(Vec::new()));
        }
        None
    }

    /// It waits on, before all others.
    pub(crate) fn put_back(&mut self, waiter: Waiter) {
        self.waiting.push_front(waiter);
    }

    /// Takes those whose time has come.
    pub(crate) fn expire(&mut self, now_ms: i64) -> VecDeque<Waiter> {
        if self.soonest_ms > now_ms {
            return VecDeque::new();
        }
        let all = self.take_all().into_iter();
        let (over, waiting) = all.partition(|waiter| waiter.until_ms <= now_ms);
        self.waiting = waiting;
        let until = self.waiting.iter().map(|waiter| waiter.until_ms);
        self.soonest_ms = until.min().unwrap_or(i64::MAX);
        over
    }

    pub(crate) fn take_all(&mut self) -> VecDeque<Waiter> {
        std::mem::take(&mut self.waiting)
    }

    pub(crate) fn next_ms(&self) -> Option<i64> {
        (!self.waiting.is_empty()).then_some(self.soonest_ms)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
}
