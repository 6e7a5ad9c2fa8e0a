//! How a server ends: what runs may come to its end within bounds, and whoever cannot wait asks again.

use std::pin::pin;
use std::time::Duration;

use anyhow::Result;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::frontend::Frontend;
use super::words::count;

/// How long all that runs may go on when the server stops: requests that are being answered, invocations
/// and tasks, at the same time.
const GRACE: Duration = Duration::from_secs(10);
/// What ends within it needs no words.
const SOON: Duration = Duration::from_millis(500);

/// Ctrl-C, and what service managers send.
pub(super) struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    /// Hears those that come from now on.
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

/// A server that is about to stop.
pub(super) struct Farewell {
    again: Signals,
    /// Whether somebody has been told what is waited for.
    told: bool,
}

impl Farewell {
    /// Says what is being waited for. Whoever reads that they may ask again is heard.
    pub(super) fn begin(calls: usize, frontend: &dyn Frontend) -> Option<Self> {
        let again = Signals::listen().ok()?;
        let line = words(calls);
        if let Some(line) = &line {
            frontend.write(line);
        }
        Some(Self { again, told: line.is_some() })
    }
}

fn words(calls: usize) -> Option<String> {
    let seconds = GRACE.as_secs();
    let (run, them) = if calls == 1 { ("runs", "it") } else { ("run", "them") };
    (calls > 0).then(|| {
        format!(
            "{} {run}: waiting up to {seconds} s for {them}; Ctrl-C again ends {them} now\n",
            count(calls, "call")
        )
    })
}

/// When all must have come to its end.
pub(super) fn deadline() -> Instant {
    Instant::now() + GRACE
}

/// Once the server stops, ends the process when it is asked to a second time, as a kill would: what was
/// accepted is on the disk and goes on at the next start, and the processes of functions die with this one.
pub(super) async fn impatient(
    stopped: oneshot::Receiver<Option<Farewell>>,
    frontend: &dyn Frontend,
) {
    let Ok(Some(Farewell { mut again, told })) = stopped.await else {
        return std::future::pending().await;
    };
    let mut again = pin!(again.recv());
    if !told && tokio::time::timeout(SOON, &mut again).await.is_err() {
        let seconds = GRACE.as_secs();
        frontend.write(&format!(
            "waiting up to {seconds} s for requests that are being answered; Ctrl-C again ends at once\n"
        ));
        again.await;
    } else if told {
        again.await;
    }
    frontend.interrupted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_waited_for_is_told() {
        let check = |calls, expected: Option<&str>| assert_eq!(words(calls).as_deref(), expected);
        check(0, None);
        check(1, Some("1 call runs: waiting up to 10 s for it; Ctrl-C again ends it now\n"));
        check(2, Some("2 calls run: waiting up to 10 s for them; Ctrl-C again ends them now\n"));
    }
}
