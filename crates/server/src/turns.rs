//! Work that takes long, done beside the threads that answer requests, and only so much of it at a time.

use std::sync::Arc;
use std::time::Duration;

use everstep_api::protocol::{Common, Error};
use tokio::sync::Semaphore;

/// How long a request waits for its turn.
const WAIT: Duration = Duration::from_secs(20);

/// Pieces of work that run at the same time; further ones wait.
pub(crate) struct Turns {
    free: Arc<Semaphore>,
    wait: Duration,
}

impl Turns {
    pub(crate) fn new(count: usize) -> Self {
        Self { free: Arc::new(Semaphore::new(count)), wait: WAIT }
    }

    /// One for each processor.
    pub(crate) fn of_processors() -> Self {
        Self::new(std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// Does the work when it is its turn, or throttles. The turn lasts until the work is done, also if nobody waits
    /// for it any more.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let throttled = || Error::common(Common::Throttling, "Rate exceeded");
        let turn = tokio::time::timeout(self.wait, self.free.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| throttled())?.map_err(|_| throttled())?;
        let done = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        match done.await {
            Ok(done) => Ok(done),
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                Err(_) => Err(Error::common(Common::ServiceUnavailable, "the server stops")),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// The work that has the only turn, until it is let go.
    async fn busy(turns: &Turns) -> mpsc::Sender<()> {
        let (begun, has_begun) = tokio::sync::oneshot::channel();
        let (let_go, wait) = mpsc::channel::<()>();
        let work = turns.run(move || {
            let _ = begun.send(());
            let _ = wait.recv();
        });
        // Nobody waits for its end.
        tokio::select! {
            _ = work => unreachable!("it waits"),
            begun = has_begun => begun.expect("it begins"),
        }
        let_go
    }

    #[tokio::test]
    async fn work_waits_for_its_turn() {
        let turns = Turns { wait: Duration::ZERO, ..Turns::new(1) };
        let let_go = busy(&turns).await;
        let refused = turns.run(|| 2).await.expect_err("it is not its turn");
        assert_eq!(refused.name(), "ThrottlingException");
        let patient = Turns { free: turns.free.clone(), wait: WAIT };
        drop(let_go);
        assert_eq!(patient.run(|| 3).await.expect("a turn"), 3);
    }
}
