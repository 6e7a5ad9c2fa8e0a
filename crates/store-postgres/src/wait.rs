//! Waiting for a future on a thread that is nobody's executor, up to a moment.
//!
//! A store is called from plain threads and from those of any async runtime, so it must not start a runtime of
//! its own there. What is waited for makes progress on the store's own thread.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Instant;

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Does something that waits, so that an async runtime whose thread this is gives its other tasks to another.
pub(crate) fn blocking<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(runtime) if runtime.runtime_flavor() == RuntimeFlavor::MultiThread => {
            block_in_place(work)
        }
        _ => work(),
    }
}

/// What a future yields; none if it has not by `until`.
pub(crate) fn wait<F: Future>(future: F, until: Option<Instant>) -> Option<F::Output> {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Some(value);
        }
        match until {
            None => thread::park(),
            Some(until) => {
                let left = until.checked_duration_since(Instant::now())?;
                thread::park_timeout(left);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_runtime_of_one_thread_goes_on_while_it_is_waited() {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .expect("a runtime");
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let waiting = runtime.spawn(async { blocking(|| wait(receiver, None)) });
        runtime.spawn(async { sender.send(3) });
        assert_eq!(wait(waiting, None).expect("no limit").expect("no panic"), Some(Ok(3)));
        let local = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        assert_eq!(local.block_on(async { blocking(|| 4) }), 4);
    }

    #[test]
    fn a_value_or_none_in_time() {
        assert_eq!(wait(async { 1 }, None), Some(1));
        let soon = Instant::now() + Duration::from_millis(5);
        assert_eq!(wait(std::future::pending::<()>(), Some(soon)), None);
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let thread = thread::spawn(move || sender.send(2));
        assert_eq!(wait(receiver, None), Some(Ok(2)));
        thread.join().expect("no panic").expect("received");
    }
}
