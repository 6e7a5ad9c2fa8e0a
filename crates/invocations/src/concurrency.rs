//! Slots of functions: how many attempts run at a time, and whose turn is next.
//!
//! A slot is a [`Permit`]; it is free again when the permit is dropped, whatever happened to its holder.
//! Those that wait stand in a line, by the moment from which they could run: after a restart too the oldest is first.
//! Invocations do so with their ids alone, and need not be in memory; calls that are written down nowhere do so
//! themselves.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use everstep_shards::Mailbox;

use crate::id::InvocationId;
use crate::message::Message;

pub(crate) struct Concurrency {
    state: Mutex<State>,
    idle: Condvar,
    mailbox: Arc<dyn Mailbox<Message>>,
}

#[derive(Default)]
struct State {
    lines: HashMap<String, Line>,
    /// Permits that are out, of all functions.
    out: usize,
    /// How many have been in line.
    came: u64,
    closed: bool,
}

#[derive(Default)]
struct Line {
    limit: u32,
    out: u32,
    /// By the moment from which they could run, and in the order in which they came.
    ready: BTreeMap<(i64, u64), Waiting>,
}

enum Waiting {
    Invocation(InvocationId),
    /// Dropped if its turn never comes.
    Call(Box<dyn FnOnce(Permit) + Send>),
}

/// The right to run one attempt of a function.
pub struct Permit {
    concurrency: Arc<Concurrency>,
    function: String,
}

impl Concurrency {
    pub(crate) fn new(mailbox: Arc<dyn Mailbox<Message>>) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), idle: Condvar::new(), mailbox })
    }

    /// A permit, if it is the invocation's turn; otherwise it gets one later. Once no more is
    /// begun it is not even in line: it stays as it is in the store.
    pub(crate) fn request(
        self: &Arc<Self>,
        function: &str,
        limit: u32,
        (id, since_ms): (InvocationId, i64),
    ) -> Option<Permit> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.queue(function, limit, since_ms, Waiting::Invocation(id));
        let mut granted = state.grant(function);
        drop(state);
        let is_own = |ready: &Waiting| matches!(ready, Waiting::Invocation(ready) if *ready == id);
        let own = granted.iter().position(is_own).map(|at| granted.remove(at));
        for ready in granted {
            self.grant(function, ready);
        }
        own.map(|_| self.permit(function))
    }

    /// A permit at once or not at all.
    pub(crate) fn try_now(self: &Arc<Self>, function: &str, limit: u32) -> Option<Permit> {
        let mut state = self.state();
        let closed = state.closed;
        let line = state.line(function, limit);
        let free = !closed && line.ready.is_empty() && line.out < line.limit;
        if free {
            line.out += 1;
            state.out += 1;
        }
        drop(state);
        free.then(|| self.permit(function))
    }

    /// A permit when it is the call's turn. It is dropped if so many wait already, or no more is begun.
    pub(crate) fn wait(
        self: &Arc<Self>,
        function: &str,
        limit: u32,
        most: usize,
        (call, since_ms): (Box<dyn FnOnce(Permit) + Send>, i64),
    ) {
        let mut state = self.state();
        let closed = state.closed;
        let line = state.line(function, limit);
        if closed || line.ready.len() >= most {
            return;
        }
        state.queue(function, limit, since_ms, Waiting::Call(call));
        let granted = state.grant(function);
        drop(state);
        for ready in granted {
            self.grant(function, ready);
        }
    }

    /// How many wait for a function.
    pub(crate) fn waiting(&self, function: &str) -> usize {
        self.state().lines.get(function).map_or(0, |line| line.ready.len())
    }

    /// Nothing new is begun from now on.
    pub(crate) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        let waiting = state.lines.values_mut().map(|line| std::mem::take(&mut line.ready));
        let waiting: Vec<_> = waiting.collect();
        drop(state);
        // Dropping answers the calls, which must not happen under the lock.
        drop(waiting);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state().closed
    }

    /// Waits until nothing runs, or for so long.
    pub(crate) fn wait_idle(&self, most: Duration) {
        let busy = |state: &mut State| state.out > 0;
        drop(self.idle.wait_timeout_while(self.state(), most, busy));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permit(self: &Arc<Self>, function: &str) -> Permit {
        Permit { concurrency: self.clone(), function: function.to_owned() }
    }

    fn grant(self: &Arc<Self>, function: &str, ready: Waiting) {
        let permit = self.permit(function);
        match ready {
            Waiting::Invocation(id) => self.mailbox.post(Message::Ready { id, permit }),
            Waiting::Call(call) => call(permit),
        }
    }
}

impl State {
    fn line(&mut self, function: &str, limit: u32) -> &mut Line {
        if !self.lines.contains_key(function) {
            self.lines.insert(function.to_owned(), Line::default());
        }
        let line = self.lines.get_mut(function).expect("it was put there");
        line.limit = limit;
        line
    }

    fn queue(&mut self, function: &str, limit: u32, since_ms: i64, waiting: Waiting) {
        self.came += 1;
        let place = (since_ms, self.came);
        self.line(function, limit).ready.insert(place, waiting);
    }

    /// Takes those out of the line whose turn it is; their permits are out from now on.
    fn grant(&mut self, function: &str) -> Vec<Waiting> {
        let mut granted = Vec::new();
        let Some(line) = self.lines.get_mut(function) else { return granted };
        while line.out < line.limit
            && let Some((_, ready)) = line.ready.pop_first()
        {
            line.out += 1;
            self.out += 1;
            granted.push(ready);
        }
        granted
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let Self { concurrency, function } = self;
        let mut state = concurrency.state();
        state.out -= 1;
        if let Some(line) = state.lines.get_mut(function.as_str()) {
            line.out -= 1;
        }
        let granted = state.grant(function);
        if state.out == 0 {
            concurrency.idle.notify_all();
        }
        drop(state);
        for ready in granted {
            concurrency.grant(function, ready);
        }
    }
}
