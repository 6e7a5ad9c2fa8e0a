//! How many calls of one function run at a time where no process waits for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) struct Slots {
    free: Arc<Semaphore>,
    most: usize,
    waiting: AtomicUsize,
    waiting_max: usize,
}

impl Slots {
    pub(crate) fn new(most: u32, waiting_max: usize) -> Self {
        let most = (most as usize).min(Semaphore::MAX_PERMITS);
        let free = Arc::new(Semaphore::new(most));
        Self { free, most, waiting: AtomicUsize::new(0), waiting_max }
    }

    /// Waits for a turn; `None` if too many do.
    pub(crate) async fn take(&self) -> Option<OwnedSemaphorePermit> {
        if self.most == 0 {
            return None;
        }
        if let Ok(permit) = self.free.clone().try_acquire_owned() {
            return Some(permit);
        }
        let before = self.waiting.fetch_add(1, Ordering::Relaxed);
        let _turn = Waiting(&self.waiting);
        if before >= self.waiting_max {
            return None;
        }
        self.free.clone().acquire_owned().await.ok()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    pub(crate) fn busy(&self) -> usize {
        self.most - self.free.available_permits()
    }
}

/// Counted for as long as it waits, however that ends.
struct Waiting<'a>(&'a AtomicUsize);

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
