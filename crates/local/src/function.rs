//! Commands that answer tasks: JSON in on standard input, JSON out on standard output.
//!
//! A command runs in a process group of its own: what it starts ends with it, and Ctrl-C on the
//! terminal reaches this program alone, which then decides.

use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// More than a payload may ever have; what comes after is read and dropped.
pub(crate) const OUTPUT_BYTES_MAX: usize = 8 << 20;
/// A line on standard error is passed on in pieces of this size.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// How long the streams of a command that has ended may stay open, held by what it left behind.
const DRAIN_TIME: Duration = Duration::from_secs(2);

/// What a command is started with.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) command: String,
    pub(crate) input: String,
    pub(crate) environment: Vec<(&'static str, String)>,
}

/// What a command lets us know.
#[derive(Debug)]
pub(crate) enum Report {
    /// A line on standard error.
    Said(String),
    Ended(Outcome),
}

#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) status: ExitStatus,
    pub(crate) output: Vec<u8>,
    /// The last line on standard error that is not blank.
    pub(crate) last_line: Option<String>,
}

/// A command that has been started; ended when it is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    group: Arc<Mutex<Option<u32>>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        // The id is taken away before the process is: it cannot be another one's by now.
        if let Some(id) = *lock(&self.group) {
            end_group(id);
        }
    }
}

/// Starts a command; `report` is called from other threads, `Ended` last.
pub(crate) fn start(
    job: &Job,
    report: impl Fn(Report) + Clone + Send + 'static,
) -> io::Result<Running> {
    let mut command = shell(&job.command);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.envs(job.environment.iter().map(|(name, value)| (name, value)));
    let mut child = command.spawn()?;
    let group = Arc::new(Mutex::new(Some(child.id())));
    feed(&mut child, job.input.clone());
    let output = collect(child.stdout.take());
    let words = listen(child.stderr.take(), report.clone());
    let shared = group.clone();
    thread::spawn(move || {
        let Ok(status) = wait(&mut child, &shared) else { return };
        let output = output.finish();
        let last_line = words.finish();
        report(Report::Ended(Outcome { status, output, last_line }));
    });
    Ok(Running { group })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command need not read all of its input.
fn feed(child: &mut Child, input: String) {
    if let Some(mut stdin) = child.stdin.take() {
        thread::spawn(move || {
            let _ = stdin.write_all(input.as_bytes());
        });
    }
}

/// Something that another thread gathers until a stream ends.
struct Gathered<T> {
    content: Arc<Mutex<T>>,
    done: Receiver<()>,
}

impl<T: Default> Gathered<T> {
    fn finish(self) -> T {
        let _ = self.done.recv_timeout(DRAIN_TIME);
        std::mem::take(&mut *lock(&self.content))
    }
}

fn gather<T: Default + Send + 'static>(
    read: impl FnOnce(&Mutex<T>) + Send + 'static,
) -> Gathered<T> {
    let content = Arc::new(Mutex::new(T::default()));
    let (sender, done) = mpsc::channel();
    let shared = content.clone();
    thread::spawn(move || {
        read(&shared);
        let _ = sender.send(());
    });
    Gathered { content, done }
}

fn collect(stream: Option<impl Read + Send + 'static>) -> Gathered<Vec<u8>> {
    gather(move |content: &Mutex<Vec<u8>>| {
        let Some(mut stream) = stream else { return };
        let mut buffer = [0; 16 << 10];
        while let Ok(length @ 1..) = stream.read(&mut buffer) {
            let mut content = lock(content);
            let room = OUTPUT_BYTES_MAX.saturating_sub(content.len());
            content.extend_from_slice(&buffer[..length.min(room)]);
        }
    })
}

fn listen(
    stream: Option<impl Read + Send + 'static>,
    report: impl Fn(Report) + Send + 'static,
) -> Gathered<Option<String>> {
    gather(move |last: &Mutex<Option<String>>| {
        let Some(stream) = stream else { return };
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        while let Ok(1..) = (&mut stream).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes) {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            bytes.clear();
            if !line.trim().is_empty() {
                *lock(last) = Some(line.clone());
            }
            report(Report::Said(line));
        }
    })
}

#[cfg(unix)]
fn shell(text: &str) -> Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new("sh");
    command.arg("-c").arg(text).process_group(0);
    command
}

#[cfg(unix)]
fn end_group(id: u32) {
    use rustix::process::{Pid, Signal, kill_process_group};
    if let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        // It may be over already.
        let _ = kill_process_group(pid, Signal::KILL);
    }
}

/// Waits for the command, and ends what it has left in its group.
#[cfg(unix)]
fn wait(child: &mut Child, group: &Mutex<Option<u32>>) -> io::Result<ExitStatus> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // Leaves the process there, so that its id stays its own until it is forgotten.
        while let Err(rustix::io::Errno::INTR) =
            waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        {}
    }
    let mut group = lock(group);
    if let Some(id) = group.take() {
        end_group(id);
    }
    child.wait()
}

#[cfg(not(unix))]
fn shell(text: &str) -> Command {
    let mut command = Command::new("cmd");
    command.arg("/C").arg(text);
    command
}

#[cfg(not(unix))]
fn end_group(id: u32) {
    let _ = Command::new("taskkill").args(["/T", "/F", "/PID", &id.to_string()]).output();
}

#[cfg(not(unix))]
fn wait(child: &mut Child, group: &Mutex<Option<u32>>) -> io::Result<ExitStatus> {
    let status = child.wait();
    lock(group).take();
    status
}
