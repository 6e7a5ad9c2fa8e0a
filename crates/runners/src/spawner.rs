//! The one thread that starts processes.
//!
//! They are tied to the life of the *thread* that started them, not to that of its process. This one lives
//! as long as its host, and so do they.

use std::ffi::OsString;
use std::io;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::limits::{ControlGroup, Limits};
use crate::observer::{Event, EventQueue, Stream};
use crate::orphans::Journal;
use crate::output::Output;
use crate::process::{Ending, Launch, Process, Session};
use crate::shim::Order;

/// Waiters only wait.
const WAITER_STACK_BYTES: usize = 128 << 10;

#[derive(Clone)]
pub(crate) struct Spawner {
    requests: Sender<(Launch, oneshot::Sender<io::Result<Process>>)>,
}

/// What the thread works with.
pub(crate) struct Parts {
    /// The program, and what comes before its own arguments.
    pub(crate) shim: Vec<OsString>,
    pub(crate) limits: Limits,
    pub(crate) journal: Arc<Journal>,
    pub(crate) events: EventQueue,
    pub(crate) runtime: Handle,
}

impl Spawner {
    pub(crate) fn start(parts: Parts) -> io::Result<Self> {
        let (requests, received) = channel();
        thread::Builder::new()
            .name("everstep-spawner".to_owned())
            .spawn(move || parts.work(&received))?;
        Ok(Self { requests })
    }

    pub(crate) async fn spawn(&self, launch: Launch) -> io::Result<Process> {
        let (reply, process) = oneshot::channel();
        let _ = self.requests.send((launch, reply));
        process.await.unwrap_or_else(|_| Err(io::Error::other("the host is shut down")))
    }
}

impl Parts {
    fn work(&self, requests: &Receiver<(Launch, oneshot::Sender<io::Result<Process>>)>) {
        let _entered = self.runtime.enter();
        for (number, (launch, reply)) in (0..).zip(requests) {
            // If the caller went away, the process is dropped here and ends at once.
            let _ = reply.send(self.spawn(&launch, number));
        }
    }

    fn spawn(&self, launch: &Launch, number: u64) -> io::Result<Process> {
        let program = launch.program.clone();
        let mut order = Order { parent: std::process::id(), program, ..Order::default() };
        let group = self.limits.apply(&mut order, number, launch.memory_mib);
        let spawned = self.start(launch, &order, &group);
        if spawned.is_err() {
            group.remove();
        }
        spawned
    }

    fn start(&self, launch: &Launch, order: &Order, group: &ControlGroup) -> io::Result<Process> {
        if !launch.directory.is_dir() {
            let text = format!("no such folder: {}", launch.directory.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, text));
        }
        let (first, rest) = self.shim.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(first);
        command.args(rest).args(order.to_args());
        command.env_clear().envs(launch.env.iter().map(|(name, value)| (name, value)));
        command.current_dir(&launch.directory);
        let mut ends = Vec::new();
        if launch.call.is_some() {
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
        } else {
            command.stdin(Stdio::null());
            let (read, write) = io::pipe()?;
            command.stdout(write);
            ends.push((Stream::Stdout, read.into()));
        }
        let (read, write) = io::pipe()?;
        command.stderr(write);
        ends.push((Stream::Stderr, read.into()));
        let child = command.spawn()?;
        // It holds this process's copies of the pipes' other ends.
        drop(command);
        self.attend(launch, child, ends, group)
    }

    fn attend(
        &self,
        launch: &Launch,
        mut child: Child,
        ends: Vec<(Stream, std::os::fd::OwnedFd)>,
        group: &ControlGroup,
    ) -> io::Result<Process> {
        let (pid, function) = (child.id(), launch.function.clone());
        let session = Session::new(pid, group.clone());
        let streams = child.stdin.take().zip(child.stdout.take());
        let journalled = self.journal.add(pid);
        self.events.send(Event::Started { function: function.clone(), pid });
        let exit = self.wait(function.clone(), child, session.clone());
        let exit = exit.inspect_err(|_| session.kill())?;
        journalled.inspect_err(|_| session.kill())?;
        let output = Output::read(function, pid, self.events.clone(), launch.call.clone(), ends)
            .inspect_err(|_| session.kill())?;
        Ok(Process { pid, output, exit, streams, session })
    }

    fn wait(
        &self,
        function: Arc<str>,
        mut child: Child,
        session: Session,
    ) -> io::Result<oneshot::Receiver<Ending>> {
        let (ended, exit) = oneshot::channel();
        let (journal, events) = (self.journal.clone(), self.events.clone());
        let builder = thread::Builder::new().name("everstep-waiter".to_owned());
        builder.stack_size(WAITER_STACK_BYTES).spawn(move || {
            let pid = child.id();
            let ending = session.wait(&mut child, &journal);
            events.send(Event::Ended { function, pid, how: ending.how() });
            let _ = ended.send(ending);
        })?;
        Ok(exit)
    }
}
