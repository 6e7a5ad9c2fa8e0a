//! Tasks that end when somebody returns their token.

use std::sync::Arc;

use everstep_executions::{ExecutionId, Message, Postbox, Report, Task};

/// A task of the pattern `.waitForTaskToken`: the answer of the call is not its result. Runners need not know of the
/// pattern.
#[must_use]
pub fn awaiting(task: Task) -> Task {
    task.heard_by(|postbox| Arc::new(Callback(postbox)))
}

struct Callback(Arc<dyn Postbox>);

impl Postbox for Callback {
    fn post(&self, id: ExecutionId, message: Message) {
        let message = match message {
            Message::Report { id, attempt, report: Report::Succeeded { output }, reply } => {
                Message::Report { id, attempt, report: Report::Submitted { output }, reply }
            }
            other => other,
        };
        self.0.post(id, message);
    }
}
