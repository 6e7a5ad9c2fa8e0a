//! What processes write: cut into lines, tagged, the last of them kept.
//!
//! However much there is, a fixed amount is held.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, Read as _};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::lock::lock;
use crate::observer::{Event, EventQueue, Stream, Tag};

/// A longer line is passed on in pieces of this size.
const LINE_BYTES_MAX: usize = 8 << 10;
const TAIL_LINES: usize = 40;
/// Of each line in the tail.
const TAIL_LINE_BYTES: usize = 1000;
/// Read before others have their turn.
const TURN_BYTES: usize = 1 << 20;

/// Both streams of a process.
pub(crate) struct Output {
    function: Arc<str>,
    pid: u32,
    events: EventQueue,
    pipes: Vec<Pipe>,
    kept: Mutex<Kept>,
    open: watch::Sender<usize>,
}

struct Pipe {
    stream: Stream,
    end: pipe::Receiver,
    /// A line of which the end has not come.
    line: Mutex<Vec<u8>>,
}

#[derive(Default)]
struct Kept {
    tag: Option<Arc<Tag>>,
    tail: VecDeque<Arc<str>>,
}

impl Output {
    /// Reads until both streams are closed. `tag` is the call that the process is there for from its first
    /// line on, if it is. Must be called within a Tokio runtime.
    pub(crate) fn read(
        function: Arc<str>,
        pid: u32,
        events: EventQueue,
        tag: Option<Tag>,
        ends: Vec<(Stream, OwnedFd)>,
    ) -> io::Result<Arc<Self>> {
        let pipes: io::Result<Vec<Pipe>> = ends.into_iter().map(Pipe::new).collect();
        let pipes = pipes?;
        let open = watch::Sender::new(pipes.len());
        let kept = Kept { tag: tag.map(Arc::new), ..Kept::default() };
        let kept = Mutex::new(kept);
        let output = Arc::new(Self { function, pid, events, pipes, kept, open });
        for index in 0..output.pipes.len() {
            tokio::spawn(output.clone().follow(index));
        }
        Ok(output)
    }

    /// From now on, lines belong to this call.
    pub(crate) fn begin(&self, tag: Tag) {
        self.settle();
        let mut kept = lock(&self.kept);
        kept.tag = Some(Arc::new(tag));
        kept.tail.clear();
    }

    /// The last lines, with all that has been written so far.
    pub(crate) fn tail(&self) -> Vec<String> {
        self.settle();
        let cut = |line: &Arc<str>| line[..line.floor_char_boundary(TAIL_LINE_BYTES)].to_owned();
        lock(&self.kept).tail.iter().map(cut).collect()
    }

    /// Resolves when nothing can come any more.
    pub(crate) async fn closed(&self) {
        let _ = self.open.subscribe().wait_for(|open| *open == 0).await;
    }

    async fn follow(self: Arc<Self>, index: usize) {
        let pipe = &self.pipes[index];
        while pipe.end.readable().await.is_ok() {
            match self.take(pipe, |buffer| pipe.end.try_read(buffer)) {
                Ok(Taken::All) => {}
                Ok(Taken::More) => tokio::task::yield_now().await,
                Ok(Taken::End) | Err(_) => break,
            }
        }
        self.open.send_modify(|open| *open -= 1);
    }

    /// Reads what is there now, whether or not Tokio knows of it yet. A line without an end ends here: what
    /// comes is of another call.
    fn settle(&self) {
        for pipe in &self.pipes {
            let _ = self.take(pipe, |buffer| Ok(rustix::io::read(&pipe.end, buffer)?));
            self.finish(pipe.stream, &mut lock(&pipe.line));
        }
    }

    fn take(
        &self,
        pipe: &Pipe,
        mut read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Taken> {
        let mut line = lock(&pipe.line);
        let mut buffer = [0; 32 << 10];
        let mut left = TURN_BYTES;
        while left > 0 {
            match read(&mut buffer) {
                Ok(0) => {
                    self.finish(pipe.stream, &mut line);
                    return Ok(Taken::End);
                }
                Ok(length) => {
                    split(&mut line, &buffer[..length], |line| self.line(pipe.stream, line));
                    left = left.saturating_sub(length);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(Taken::All),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Taken::More)
    }

    fn finish(&self, stream: Stream, line: &mut Vec<u8>) {
        if !line.is_empty() {
            self.line(stream, line);
            line.clear();
        }
    }

    fn line(&self, stream: Stream, bytes: &[u8]) {
        let text: Arc<str> = String::from_utf8_lossy(bytes).into();
        let mut kept = lock(&self.kept);
        if kept.tail.len() == TAIL_LINES {
            kept.tail.pop_front();
        }
        kept.tail.push_back(text.clone());
        let (function, pid, tag) = (self.function.clone(), self.pid, kept.tag.clone());
        self.events.send(Event::Line { function, pid, tag, stream, text });
    }
}

impl Pipe {
    fn new((stream, end): (Stream, OwnedFd)) -> io::Result<Self> {
        let end = pipe::Receiver::from_owned_fd(end)?;
        Ok(Self { stream, end, line: Mutex::default() })
    }
}

enum Taken {
    /// All that was there.
    All,
    More,
    End,
}

/// Calls `found` with each line that is complete, or too long.
fn split(line: &mut Vec<u8>, mut bytes: &[u8], mut found: impl FnMut(&[u8])) {
    while !bytes.is_empty() {
        let room = (LINE_BYTES_MAX - line.len()) as u64;
        // From memory: it cannot fail.
        let _ = bytes.by_ref().take(room).read_until(b'\n', line);
        let whole = line.strip_suffix(b"\n");
        if whole.is_some() || line.len() == LINE_BYTES_MAX {
            let text = whole.unwrap_or(line);
            found(text.strip_suffix(b"\r").unwrap_or(text));
            line.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pieces: &[&[u8]], expected: &[&[u8]], rest: &[u8]) {
        let (mut line, mut lines) = (Vec::new(), Vec::new());
        for piece in pieces {
            split(&mut line, piece, |line| lines.push(line.to_vec()));
        }
        assert_eq!(
            (lines.as_slice(), line.as_slice()),
            (expected_lines(expected).as_slice(), rest)
        );
    }

    fn expected_lines(lines: &[&[u8]]) -> Vec<Vec<u8>> {
        lines.iter().map(|line| line.to_vec()).collect()
    }

    #[test]
    fn lines_are_cut() {
        check(&[b"a\nb", b"c\r\n\nd"], &[b"a", b"bc", b""], b"d");
        let long = [b'x'; LINE_BYTES_MAX + 3];
        check(&[&long, b"\n"], &[&long[..LINE_BYTES_MAX], b"xxx"], b"");
    }
}
