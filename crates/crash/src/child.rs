//! A process that runs the engine under test.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::protocol::{Answer, Request};

pub struct Process {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<Answer>,
    errors: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts `program` on a directory, or on the URL of a database.
    #[must_use]
    pub fn start(program: &str, store: &Path, witness: &Path) -> Self {
        let mut command = Command::new(program);
        command.arg(store).arg(witness);
        Self::run(&mut command)
    }

    /// Runs a command that becomes the engine under test.
    #[must_use]
    pub fn run(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the engine under test starts");
        let requests = child.stdin.take().expect("it is piped");
        let (sender, answers) = mpsc::channel();
        let stdout = child.stdout.take().expect("it is piped");
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                // Killed inside a write, it leaves half a line.
                let Ok(answer) = serde_json::from_str(&line) else { return };
                if sender.send(answer).is_err() {
                    return;
                }
            }
        });
        let mut stderr = child.stderr.take().expect("it is piped");
        let errors = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = std::io::Read::read_to_end(&mut stderr, &mut text);
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { child, requests, answers, errors: Some(errors) }
    }

    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Does nothing if the process is gone: the next one gets the request.
    pub fn send(&mut self, request: &Request) {
        let mut line = serde_json::to_vec(request).expect("a request is plain data");
        line.push(b'\n');
        let _ = self.requests.write_all(&line);
    }

    /// The next answer before a moment.
    ///
    /// # Errors
    ///
    /// If there was none, or will be none any more.
    pub fn answer(&mut self, until: Instant) -> Result<Answer, RecvTimeoutError> {
        self.answers.recv_timeout(until.saturating_duration_since(Instant::now()))
    }

    /// Ends it without a warning: all that it had said by then, and what on standard error.
    #[must_use]
    pub fn kill(mut self) -> (Vec<Answer>, String) {
        // If it has ended by itself, that is seen by what it said on its standard error.
        let _ = self.child.kill();
        let _ = self.child.wait();
        (self.answers.iter().collect(), self.errors())
    }

    fn errors(&mut self) -> String {
        self.errors.take().map(JoinHandle::join).and_then(Result::ok).unwrap_or_default()
    }

    /// Asks it to finish, and waits until it has: how it left, and what it said on standard error.
    ///
    /// # Panics
    ///
    /// If it does not leave within a minute.
    #[must_use]
    pub fn finish(mut self) -> (ExitStatus, String) {
        self.send(&Request::End);
        self.left()
    }

    /// Waits until it has left by itself.
    ///
    /// # Panics
    ///
    /// If it does not leave within a minute.
    #[must_use]
    pub fn left(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.answer(deadline).is_ok() {}
        assert!(Instant::now() < deadline, "the engine under test does not leave");
        let status = self.child.wait().expect("our own child");
        (status, self.errors())
    }
}

/// A test that fails leaves no process behind.
impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
