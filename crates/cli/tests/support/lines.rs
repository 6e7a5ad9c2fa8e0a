//! The lines of a process, read with a deadline.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use super::DEADLINE;

pub struct Lines {
    receiver: Receiver<String>,
    /// All that was read so far.
    pub text: String,
}

impl Lines {
    /// Reads a stream in a thread of its own, to its end.
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                // The stream is drained even if nobody reads the lines: the process must not block.
                let _ = sender.send(line);
            }
        });
        Self { receiver, text: String::new() }
    }

    /// The next line; none at the end of the stream.
    pub fn next(&mut self) -> Option<String> {
        match self.receiver.recv_timeout(DEADLINE) {
            Ok(line) => {
                self.text += &format!("{line}\n");
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("no line for {DEADLINE:?} after:\n{}", self.text)
            }
        }
    }

    /// Reads until a text appears.
    pub fn until(&mut self, wanted: &str) {
        let start = Instant::now();
        while !self.text.contains(wanted) {
            assert!(start.elapsed() < DEADLINE, "`{wanted}` does not appear:\n{}", self.text);
            assert!(
                self.next().is_some(),
                "`{wanted}` does not appear before the end:\n{}",
                self.text
            );
        }
    }

    /// All lines to the end of the stream.
    pub fn rest(mut self) -> String {
        while self.next().is_some() {}
        self.text
    }
}
