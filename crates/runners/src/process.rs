//! A process that is bounded, listened to and ended as a whole.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::Pid;
use tokio::sync::oneshot;

use crate::limits::ControlGroup;
use crate::lock::lock;
use crate::observer::Tag;
use crate::orphans::{Journal, end_session};
use crate::output::Output;
use crate::shim;

/// How long pipes may stay open after the end, held by what has escaped.
const DRAIN: Duration = Duration::from_secs(1);

/// What to start, and how.
#[derive(Debug, Clone)]
pub(crate) struct Launch {
    pub(crate) function: Arc<str>,
    pub(crate) program: Vec<std::ffi::OsString>,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) directory: PathBuf,
    pub(crate) memory_mib: u32,
    /// The one call that it is for. Its standard input and output are for data then, and only standard
    /// error is a log.
    pub(crate) call: Option<Tag>,
}

/// Ends when it is dropped, with all that it has started.
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) output: Arc<Output>,
    pub(crate) exit: oneshot::Receiver<Ending>,
    /// If they are for data.
    pub(crate) streams: Option<(ChildStdin, ChildStdout)>,
    pub(crate) session: Session,
}

/// The way to end a process, for as long as its number is its own.
#[derive(Clone)]
pub(crate) struct Session {
    leader: Arc<Mutex<Option<u32>>>,
    group: ControlGroup,
}

impl Session {
    pub(crate) fn new(leader: u32, group: ControlGroup) -> Self {
        Self { leader: Arc::new(Mutex::new(Some(leader))), group }
    }

    pub(crate) fn kill(&self) {
        if let Some(leader) = *lock(&self.leader) {
            end_session(leader);
            self.group.kill();
        }
    }

    /// Whether the leader is over already, noticed or not.
    pub(crate) fn has_ended(&self) -> bool {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        let leader = lock(&self.leader);
        let Some(pid) = leader.and_then(|leader| Pid::from_raw(leader.try_into().ok()?)) else {
            return true;
        };
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(pid), options), Ok(None))
    }

    /// Waits for the leader and ends what it leaves behind, before its number can be another's.
    pub(crate) fn wait(&self, child: &mut Child, journal: &Journal) -> Ending {
        linger(child.id());
        let mut leader = lock(&self.leader);
        if let Some(leader) = leader.take() {
            end_session(leader);
            self.group.kill();
            journal.remove(leader);
        }
        let status = child.wait();
        let ending = Ending { status: status.ok(), out_of_memory: self.group.ran_out_of_memory() };
        self.group.remove();
        ending
    }
}

/// Returns when a process is over, and leaves it there.
fn linger(pid: u32) {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while let Err(rustix::io::Errno::INTR) = waitid(WaitId::Pid(pid), options) {}
}

impl Process {
    /// The last lines, once all of them have come.
    pub(crate) async fn last_lines(&self) -> Vec<String> {
        let _ = tokio::time::timeout(DRAIN, self.output.closed()).await;
        self.output.tail()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.session.kill();
    }
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    status: Option<ExitStatus>,
    pub(crate) out_of_memory: bool,
}

impl Ending {
    /// When it is not known.
    pub(crate) const LOST: Self = Self { status: None, out_of_memory: false };

    pub(crate) fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }

    /// As Lambda puts it.
    pub(crate) fn reason(&self) -> String {
        match self.status.and_then(|status| status.code()) {
            Some(0) => "Runtime exited without providing a reason".to_owned(),
            _ => format!("Runtime exited with error: {}", self.how()),
        }
    }

    pub(crate) fn how(&self) -> String {
        let Some(status) = self.status else { return "unknown".to_owned() };
        match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit status {code}"),
            (None, Some(signal)) => format!("signal: {}", signal_name(signal)),
            (None, None) => status.to_string(),
        }
    }

    /// Why the program never ran, if the process ended before it became the program.
    pub(crate) fn complaint(&self, tail: &[String]) -> Option<String> {
        let last = tail.last()?.strip_prefix(shim::COMPLAINT)?;
        (self.code() == Some(shim::EXIT_NOT_STARTED)).then(|| last.to_owned())
    }
}

/// Names of signals as Go writes them, and so Lambda.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "hangup",
        2 => "interrupt",
        3 => "quit",
        4 => "illegal instruction",
        6 => "aborted",
        7 => "bus error",
        8 => "floating point exception",
        9 => "killed",
        11 => "segmentation fault",
        13 => "broken pipe",
        15 => "terminated",
        _ => return format!("signal {signal}"),
    };
    name.to_owned()
}

/// Makes an error of the machine into one that names what was attempted.
pub(crate) fn because(what: &str, error: &io::Error) -> String {
    format!("cannot {what}: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(raw: i32, reason: &str) {
        let status = Some(ExitStatus::from_raw(raw));
        assert_eq!(Ending { status, out_of_memory: false }.reason(), reason);
    }

    #[test]
    fn endings_are_told_as_lambda_tells_them() {
        check(0, "Runtime exited without providing a reason");
        check(127 << 8, "Runtime exited with error: exit status 127");
        check(9, "Runtime exited with error: signal: killed");
        check(11, "Runtime exited with error: signal: segmentation fault");
        check(24, "Runtime exited with error: signal: signal 24");
    }
}
