//! What functions write, in the log of `everstep serve`: each line with the function and the request id.

use std::sync::Arc;

use everstep_runners::{Event, Observer};
use everstep_source::terminal;

use super::frontend::Frontend;

pub(super) struct FunctionLog(pub(super) Arc<dyn Frontend>);

impl Observer for FunctionLog {
    fn observe(&self, event: &Event) {
        let line = match event {
            Event::Line { function, tag, text, .. } => {
                let request = tag.as_ref().map_or("-", |tag| tag.request_id.as_str());
                written(&format!("{function} {request}"), text)
            }
            Event::Misbehaved { function, pid, what } | Event::Refused { function, pid, what } => {
                format!("warning: {function} (process {pid}): {what}\n")
            }
            Event::Reaped { pid } => {
                format!("killed process {pid}, left over from an earlier run\n")
            }
            Event::Lost { events } => {
                format!("warning: {events} lines of functions were dropped\n")
            }
            Event::Started { .. } | Event::Ended { .. } => return,
        };
        self.0.write(&line);
    }
}

/// Python's clients put a stack trace on one line, with carriage returns in it: on a terminal all of it
/// would be written over itself.
fn written(who: &str, text: &str) -> String {
    text.split('\r').map(|line| format!("{who} {}\n", terminal::line(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_says_whose_it_is() {
        let check = |text, expected: &str| assert_eq!(written("f 1", text), expected);
        check("hello", "f 1 hello\n");
        check("", "f 1 \n");
        check("[ERROR] E\rTraceback:\r  File x", "f 1 [ERROR] E\nf 1 Traceback:\nf 1   File x\n");
    }
}
