//! Writes the story on standard error: a line for what has happened, and on a terminal one line
//! that shows the moment.

use everstep_interpreter::Failure;

use super::entry::{Asked, Entry, Otherwise, Problem, Retrier, Verdict, What};
use super::frame::path;
use super::words;
use crate::output::{Stream, count};

/// Where what happened begins: behind the time.
const MARGIN: usize = 11;
/// However narrow the window, so much of a cause is shown.
const CAUSE_CHARS_MIN: usize = 30;

pub(crate) struct Teller {
    quiet: bool,
    live: bool,
    pub(super) style: Style,
    pub(super) width: usize,
    /// The line of the moment is on the screen.
    shown: bool,
    /// Anything was told.
    told: bool,
}

/// What colours mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    coloured: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.coloured { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.paint("1;91", text)
    }

    pub(super) fn warning(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(super) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(super) fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }
}

impl Teller {
    pub(crate) fn new(quiet: bool) -> Self {
        Self {
            quiet,
            live: !quiet && Stream::Story.is_live(),
            style: Style { coloured: Stream::Story.has_colour() },
            width: Stream::Story.width(),
            shown: false,
            told: false,
        }
    }

    pub(super) fn is_live(&self) -> bool {
        self.live
    }

    /// No longer quiet.
    pub(crate) fn speak(&mut self) {
        self.quiet = false;
    }

    pub(super) fn has_told(&self) -> bool {
        self.told
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Shows what is under way, in place of what was shown before.
    pub(super) fn show(&mut self, moments: &[String]) {
        let [first, others @ ..] = moments else { return };
        let more =
            if others.is_empty() { String::new() } else { format!(", {} more", others.len()) };
        let room = self.width.saturating_sub(MARGIN + 2 + more.chars().count() + 1);
        let text = format!("{:MARGIN$}· {}{more}", "", words::shorten(first, room));
        write(&format!("\r\x1b[2K{}", self.style.faint(&text)));
        self.shown = true;
    }

    pub(super) fn line(&mut self, text: &str) {
        self.told = true;
        let clear = if std::mem::take(&mut self.shown) { "\r\x1b[2K" } else { "" };
        write(&format!("{clear}{text}\n"));
    }

    /// What is not of the execution itself.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            let text = format!("{:MARGIN$}· {text}", "");
            self.line(&self.style.faint(&text));
        }
    }

    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            write("\r\x1b[2K");
        }
    }

    pub(super) fn tell(&mut self, entry: &Entry) {
        if self.quiet {
            if let What::Said { line } = &entry.what {
                write(&format!("{line}\n"));
            }
            return;
        }
        for line in self.lines(entry) {
            self.line(&line);
        }
    }

    fn lines(&self, entry: &Entry) -> Vec<String> {
        let style = self.style;
        let indent = "  ".repeat(entry.scope.len());
        let time = format!("{:>w$}  ", words::duration(entry.at_ms), w = MARGIN - 2);
        let head = |mark: &str, rest: String| {
            let name = path(&entry.scope, &entry.state);
            format!("{}{indent}{mark} {}{rest}", style.faint(&time), style.strong(&name))
        };
        let below = |text: String| format!("{:MARGIN$}{indent}  {text}", "");
        let room = self.width.saturating_sub(MARGIN + indent.len() + 2);
        let failed = |problem: &Problem| {
            let taken = path(&entry.scope, &entry.state).chars().count() + 2;
            let (error, cause) = problem_lines(problem, room.saturating_sub(taken), room);
            let first = head(&style.bad("✗"), format!("  {error}"));
            std::iter::once(first).chain(cause.map(below)).collect::<Vec<_>>()
        };
        match &entry.what {
            What::Succeeded { duration_ms, attempts, next } => {
                let rest = succeeded(entry.kind, *duration_ms, *attempts, next.as_deref());
                vec![head(&style.good("✓"), style.faint(&rest))]
            }
            What::Retried { problem, retrier, otherwise, .. } => {
                let mut lines = failed(problem);
                lines.push(below(style.warning(&retried(retrier))));
                lines.extend(otherwise.as_ref().map(|then| below(style.faint(&in_vain(then)))));
                lines
            }
            What::Failed { problem, next, catchers, .. } => {
                let mut lines = failed(problem);
                let caught = next.as_ref().map(|next| caught(catchers, next));
                lines.extend(caught.map(|caught| below(style.warning(&caught))));
                lines
            }
            What::Waiting { duration_ms } => {
                let rest = format!("  waits {}", words::span(*duration_ms));
                vec![head(&style.faint("·"), style.faint(&rest))]
            }
            What::BranchesStarted { branches } => {
                let rest = format!("  {}", branches_text(*branches));
                vec![head(&style.faint("┬"), style.faint(&rest))]
            }
            What::ItemsStarted { items, distributed } => {
                let how = if *distributed { ", each a child execution" } else { "" };
                let rest = format!("  {}{how}", count(*items, "item"));
                vec![head(&style.faint("┬"), style.faint(&rest))]
            }
            What::Aborted => {
                vec![head(&style.warning("■"), style.faint("  stopped"))]
            }
            What::Said { line } => {
                let text = format!("{}: {line}", path(&entry.scope, &entry.state));
                vec![format!("{:MARGIN$}{indent}{}", "", style.faint(&format!("│ {text}")))]
            }
        }
    }
}

fn branches_text(branches: u32) -> String {
    if branches == 1 { "1 branch".to_owned() } else { format!("{branches} branches") }
}

/// A terminal that has gone away has seen enough; the run goes on.
fn write(text: &str) {
    let _ = Stream::Story.write(text);
}

fn succeeded(kind: &str, duration_ms: i64, attempts: u32, next: Option<&str>) -> String {
    let mut facts = Vec::new();
    if let ("Choice", Some(next)) = (kind, next) {
        facts.push(format!("→ {next}"));
    }
    if duration_ms > 0 {
        facts.push(words::measured(duration_ms));
    }
    if attempts > 1 {
        facts.push(format!("{attempts} attempts"));
    }
    if facts.is_empty() { String::new() } else { format!("  {}", facts.join(", ")) }
}

/// `RateLimitError: too many calls`, in so many characters if that is possible.
pub(super) fn problem_text(problem: &Problem, room: usize) -> String {
    let (name, cause) = named(problem);
    match cause {
        None => name,
        Some(cause) => {
            let left = room.saturating_sub(name.chars().count() + 2).max(CAUSE_CHARS_MIN);
            format!("{name}: {}", words::shorten(&cause, left))
        }
    }
}

/// The cause on a line of its own if there is too little room for it beside the name.
fn problem_lines(problem: &Problem, room: usize, room_below: usize) -> (String, Option<String>) {
    let (name, cause) = named(problem);
    let left = room.saturating_sub(name.chars().count() + 2);
    match cause {
        Some(cause) if left < CAUSE_CHARS_MIN && cause.chars().count() > left => {
            (name, Some(words::shorten(&cause, room_below)))
        }
        _ => (problem_text(problem, room), None),
    }
}

fn named(problem: &Problem) -> (String, Option<String>) {
    let failure = Failure {
        error: Some(problem.error.as_str().into()),
        cause: problem.cause.as_deref().map(Into::into),
    };
    (words::name(&failure), words::cause(&failure).or_else(|| problem.note.clone()))
}

fn retried(retrier: &Retrier) -> String {
    let Retrier { number, of, matched, retry, max_attempts, delay_ms, at_most } = retrier;
    let delay = words::span(*delay_ms);
    let within = if *at_most { "within" } else { "in" };
    format!(
        "retrier {number} of {of} ({matched}), retry {retry} of {max_attempts}, next try {within} {delay}"
    )
}

fn in_vain(otherwise: &Otherwise) -> String {
    match otherwise {
        Otherwise::Caught { number, of, error_equals, next } => {
            let errors = error_equals.join(", ");
            format!("if that fails too: catcher {number} of {of} ({errors}) → {next}")
        }
        Otherwise::Fails { what: Some(around) } => format!("if that fails too: {around} fails"),
        Otherwise::Fails { what: None } => "if that fails too: the execution fails".to_owned(),
    }
}

fn caught(catchers: &[Asked], next: &str) -> String {
    let taken = |asked: &Asked| asked.verdict == Verdict::TookOver;
    let index = catchers.iter().position(taken).unwrap_or(0);
    let errors = catchers.get(index).map(|asked| asked.error_equals.join(", "));
    format!(
        "caught by catcher {} of {} ({}) → {next}",
        index + 1,
        catchers.len(),
        errors.unwrap_or_default()
    )
}
