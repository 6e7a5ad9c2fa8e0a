//! Which calls are on their way, so that each can be cancelled and all can be awaited.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Notify, oneshot, watch};

use crate::lock::lock;

/// The calls that have a caller.
#[derive(Default)]
pub(crate) struct Calls {
    /// By request id; one may be in use twice.
    running: Mutex<BTreeMap<(String, u64), oneshot::Sender<()>>>,
    serial: AtomicU64,
    stopping: watch::Sender<bool>,
    over: Notify,
}

impl Calls {
    pub(crate) fn enter(&self, request_id: &str) -> (Entry<'_>, oneshot::Receiver<()>) {
        let (cancel, cancelled) = oneshot::channel();
        let key = (request_id.to_owned(), self.serial.fetch_add(1, Ordering::Relaxed));
        lock(&self.running).insert(key.clone(), cancel);
        (Entry { calls: self, key }, cancelled)
    }

    pub(crate) fn cancel(&self, request_id: &str) {
        let running = lock(&self.running);
        let range = (request_id.to_owned(), 0)..=(request_id.to_owned(), u64::MAX);
        let keys: Vec<_> = running.range(range).map(|(key, _)| key.clone()).collect();
        drop(running);
        for key in keys {
            // Dropped, it wakes the caller.
            lock(&self.running).remove(&key);
        }
    }

    pub(crate) fn cancel_all(&self) {
        lock(&self.running).clear();
    }

    pub(crate) fn stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    pub(crate) fn stop(&self) {
        self.stopping.send_replace(true);
    }

    pub(crate) async fn done(&self) {
        loop {
            let over = self.over.notified();
            if lock(&self.running).is_empty() {
                return;
            }
            over.await;
        }
    }
}

pub(crate) struct Entry<'a> {
    calls: &'a Calls,
    key: (String, u64),
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        lock(&self.calls.running).remove(&self.key);
        self.calls.over.notify_waiters();
    }
}
