//! Tasks that end when somebody sends their token back.

use std::sync::Arc;

use everstep_executions::{ExecutionId, Message, Postbox, Report, Task};

/// A task of the pattern `.waitForTaskToken`: that the call has been made is not its result. Runners
/// need not know of the pattern.
pub(crate) fn awaited(task: Task) -> Task {
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
