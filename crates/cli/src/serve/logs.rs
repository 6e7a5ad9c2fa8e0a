//! What functions say, for a server that nobody watches: a line each on standard output, as their own
//! platforms do, with the function and the request it was said for.

use everstep_runners::{Event, Observer};

use crate::output::Stream;

pub(crate) struct Lines;

impl Observer for Lines {
    fn observe(&self, event: &Event) {
        let line = match event {
            Event::Line { function, tag, text, .. } => {
                let request = tag.as_ref().map_or("-", |tag| tag.request_id.as_str());
                format!("{function} {request} {text}\n")
            }
            Event::Misbehaved { function, pid, what } => {
                format!("warning: {function} (process {pid}): {what}\n")
            }
            Event::Reaped { pid } => format!("process {pid} of an earlier run was ended\n"),
            Event::Lost { events } => format!("warning: {events} lines of functions were lost\n"),
            Event::Started { .. } | Event::Ended { .. } => return,
        };
        let _ = Stream::Story.write(&line);
    }
}
