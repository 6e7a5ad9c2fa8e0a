//! The two streams: data goes to standard output, messages and progress to standard error.
//!
//! All that is written goes through here, and no control character of others goes through with it.

use std::borrow::Cow;
use std::io::{self, IsTerminal};

use everstep_source::terminal;
pub(crate) use everstep_source::words::{choices, count};

/// Files and pipes have no width of their own.
const WIDTH_ELSEWHERE: usize = 100;
/// Longer lines of prose are hard to read, however wide the window.
const WIDTH_MAX: usize = 120;
const WIDTH_MIN: usize = 40;

/// Takes back what is on the line.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// Where a text goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Data,
    Story,
}

impl Stream {
    pub(crate) fn is_terminal(self) -> bool {
        match self {
            Self::Data => io::stdout().is_terminal(),
            Self::Story => io::stderr().is_terminal(),
        }
    }

    /// Only on a terminal, unless the user has disabled colours (<https://no-color.org>).
    pub(crate) fn has_colour(self) -> bool {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        self.is_terminal() && !refused && !dumb
    }

    /// Whether a line can be overwritten.
    pub(crate) fn is_live(self) -> bool {
        self.is_terminal() && std::env::var_os("TERM").is_none_or(|value| value != "dumb")
    }

    pub(crate) fn width(self) -> usize {
        if !self.is_terminal() {
            return WIDTH_ELSEWHERE;
        }
        let size = match self {
            Self::Data => terminal_size::terminal_size_of(io::stdout()),
            Self::Story => terminal_size::terminal_size_of(io::stderr()),
        };
        size.map_or(WIDTH_ELSEWHERE, |(width, _)| usize::from(width.0)).clamp(WIDTH_MIN, WIDTH_MAX)
    }

    /// Writes text for people.
    pub(crate) fn write(self, text: &str) -> anyhow::Result<()> {
        self.write_raw(&self.escaped(text))
    }

    /// Writes text for people over what is on the line.
    pub(crate) fn overwrite(self, text: &str) -> anyhow::Result<()> {
        let clear = if self.is_live() { CLEAR_LINE } else { "" };
        self.write_raw(&format!("{clear}{}", self.escaped(text)))
    }

    /// Writes JSON, for people or programs.
    pub(crate) fn write_json(self, text: &str) -> anyhow::Result<()> {
        self.write_raw(&terminal::json(text))
    }

    fn escaped(self, text: &str) -> Cow<'_, str> {
        if self.has_colour() { terminal::coloured(text) } else { terminal::text(text) }
    }

    /// A reader that has closed the pipe (`| head`) is not an error.
    fn write_raw(self, text: &str) -> anyhow::Result<()> {
        let written = match self {
            Self::Data => write_all(&mut io::stdout().lock(), text),
            Self::Story => write_all(&mut io::stderr().lock(), text),
        };
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|error| anyhow::anyhow!("cannot write the output: {error}")),
        }
    }
}

fn write_all(stream: &mut dyn io::Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes())?;
    stream.flush()
}

/// Reports why the command failed.
pub(crate) fn report_error(error: &anyhow::Error) {
    let (red, plain) =
        if Stream::Story.has_colour() { ("\x1b[1;91m", "\x1b[0m") } else { ("", "") };
    // If even this cannot be written, there is nothing left to do.
    let _ = Stream::Story.write(&format!("{red}error{plain}: {error:#}\n"));
}
