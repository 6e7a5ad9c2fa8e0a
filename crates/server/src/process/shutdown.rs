//! How a server stops: calls that run have a time limit, and a second signal ends the process at once.

use std::convert::Infallible;
use std::pin::pin;
use std::time::Duration;

use everstep_source::words::count;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::error::Result;
use super::frontend::Frontend;

/// How long everything that runs may take when the server stops: requests, invocations and tasks, all at the
/// same time.
const GRACE: Duration = Duration::from_secs(10);
/// A shutdown that takes longer is announced.
const SILENT: Duration = Duration::from_millis(500);

/// Ctrl-C, and what service managers send.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Receives signals from now on.
    pub(super) fn listen() -> Result<Self> {
        let (interrupt, terminate) = (SignalKind::interrupt(), SignalKind::terminate());
        Ok(Self { interrupt: signal(interrupt)?, terminate: signal(terminate)? })
    }

    pub(super) async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

/// A shutdown that has begun.
pub(super) struct Shutdown {
    second_signal: Signals,
    is_announced: bool,
}

impl Shutdown {
    /// Announces which calls it waits for. Listens for the second signal before it mentions one.
    pub(super) fn begin(calls: usize, frontend: &dyn Frontend) -> Option<Self> {
        let second_signal = Signals::listen().ok()?;
        let line = announcement(calls);
        if let Some(line) = &line {
            frontend.write(line);
        }
        Some(Self { second_signal, is_announced: line.is_some() })
    }
}

fn announcement(calls: usize) -> Option<String> {
    let seconds = GRACE.as_secs();
    (calls > 0).then(|| {
        format!(
            "stopping: waiting up to {seconds} s for {}; press Ctrl-C again to stop now\n",
            count(calls, "running call")
        )
    })
}

/// When everything must have ended, if it stops now.
pub(super) fn deadline() -> Instant {
    Instant::now() + GRACE
}

/// Once the server stops, a second signal ends the process as `kill -9` would: what was accepted is on disk and
/// continues at the next start, and the processes of functions die with this one.
pub(super) async fn on_second_signal(
    stopped: oneshot::Receiver<Option<Shutdown>>,
    frontend: &dyn Frontend,
) -> Infallible {
    let Ok(Some(Shutdown { mut second_signal, is_announced })) = stopped.await else {
        return std::future::pending().await;
    };
    let mut signal = pin!(second_signal.recv());
    if is_announced {
        signal.await;
    } else if tokio::time::timeout(SILENT, &mut signal).await.is_err() {
        let seconds = GRACE.as_secs();
        frontend.write(&format!(
            "stopping: waiting up to {seconds} s for open requests; press Ctrl-C again to stop now\n"
        ));
        signal.await;
    }
    frontend.interrupted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_calls_are_announced() {
        let check =
            |calls, expected: Option<&str>| assert_eq!(announcement(calls).as_deref(), expected);
        check(0, None);
        check(
            1,
            Some(
                "stopping: waiting up to 10 s for 1 running call; press Ctrl-C again to stop now\n",
            ),
        );
        check(
            2,
            Some(
                "stopping: waiting up to 10 s for 2 running calls; press Ctrl-C again to stop now\n",
            ),
        );
    }
}
