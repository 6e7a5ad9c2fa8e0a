//! Writes a story on standard error while it happens: a line for each entry and, on a terminal, one line that
//! shows what is under way.

use everstep_interpreter::Status;
use everstep_local::Observer;
use everstep_story::text::{End, MARGIN, Style, lines, open_failure};
use everstep_story::{Entry, Happened, Report, words};

use crate::output::Stream;

pub(crate) struct Reporter {
    quiet: bool,
    live: bool,
    style: Style,
    /// The line that shows what is under way is on the screen.
    shown: bool,
    /// Whether anything was written.
    written: bool,
}

impl Reporter {
    pub(crate) fn new(quiet: bool) -> Self {
        let style = Style { coloured: Stream::Story.has_colour(), width: Stream::Story.width() };
        let live = !quiet && Stream::Story.is_live();
        Self { quiet, live, style, shown: false, written: false }
    }

    fn line(&mut self, text: &str) {
        self.written = true;
        // A line end in a name must not look like the next line.
        let text = text.replace('\n', "\\u{a}") + "\n";
        match std::mem::take(&mut self.shown) {
            true => overwrite(&text),
            false => write(&text),
        }
    }

    /// Starts printing.
    pub(crate) fn speak(&mut self) {
        self.quiet = false;
    }

    /// A remark that is not about the execution itself.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            let text = format!("{:MARGIN$}· {text}", "");
            self.line(&self.style.faint(&text));
        }
    }

    /// Takes the line that shows what is under way off the screen.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            overwrite("");
        }
    }

    /// The failures that are being retried.
    pub(crate) fn open_failures(&mut self, report: &Report) {
        let style = self.style;
        for line in report.open.shown.iter().flat_map(|entry| open_failure(entry, style)) {
            self.line(&line);
        }
        if report.open.omitted > 0 {
            self.line(&format!("… and {} more", report.open.omitted));
        }
    }

    /// How an execution ended; `stopped` is what stopped it. A quiet reporter only writes failures.
    pub(crate) fn end(
        &mut self,
        status: &Status,
        report: &Report,
        timeout_seconds: Option<u64>,
        stopped: &str,
    ) {
        let end = End { status, report, timeout_seconds, stopped, style: self.style };
        let lines = if self.quiet { end.short() } else { end.full() };
        self.clear();
        if self.written && !self.quiet {
            self.line("");
        }
        for line in lines {
            self.line(&line);
        }
    }
}

impl Observer for Reporter {
    fn happened(&mut self, entry: &Entry) {
        match &entry.happened {
            Happened::Said { line } if self.quiet => write(&format!("{line}\n")),
            _ if self.quiet => {}
            _ => lines(entry, self.style).iter().for_each(|line| self.line(line)),
        }
    }

    fn is_live(&self) -> bool {
        self.live
    }

    fn active(&mut self, activities: &[String]) {
        let [first, others @ ..] = activities else { return };
        let more =
            if others.is_empty() { String::new() } else { format!(", {} more", others.len()) };
        let room = self.style.width.saturating_sub(MARGIN + 2 + more.chars().count() + 1);
        let text = format!("{:MARGIN$}· {}{more}", "", words::shorten(first, room));
        overwrite(&self.style.faint(&text));
        self.shown = true;
    }
}

/// A terminal that has gone away does not stop the run.
fn write(text: &str) {
    let _ = Stream::Story.write(text);
}

fn overwrite(text: &str) {
    let _ = Stream::Story.overwrite(text);
}
