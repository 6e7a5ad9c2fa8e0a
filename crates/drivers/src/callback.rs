//! Tasks that end when somebody returns their token.

use std::sync::Arc;

use everstep_executions::{Mailbox, Message, Report, Task};

/// A task of the pattern `.waitForTaskToken`: the answer of the call is not its result. Runners need not know of the
/// pattern.
#[must_use]
pub fn awaiting(task: Task) -> Task {
    task.with_mailbox(|mailbox| Arc::new(Callback(mailbox)))
}

struct Callback(Arc<dyn Mailbox<Message>>);

impl Mailbox<Message> for Callback {
    fn post(&self, message: Message) {
        let message = match message {
            Message::Report { id, attempt, report: Report::Succeeded { output }, reply } => {
                Message::Report { id, attempt, report: Report::Submitted { output }, reply }
            }
            other => other,
        };
        self.0.post(message);
    }
}
