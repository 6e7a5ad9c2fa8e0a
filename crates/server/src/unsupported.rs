//! Tasks that nothing here can run fail at once, with the reason.

use everstep_asl::model::Resource;
use everstep_executions::{Cancelled, Job, Report, Task, TaskRunner};
use everstep_interpreter::Failure;

/// A runner for a server without functions: every task fails with the reason.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unsupported;

impl TaskRunner for Unsupported {
    fn dispatch(&self, task: Task) {
        refuse(&task);
    }

    fn cancel(&self, _cancelled: Cancelled) {}
}

/// Fails a task that cannot be run. `States.Runtime` is neither retried nor caught by `States.ALL`: a retry would
/// not help, and a catcher would hide the error in the definition.
pub(crate) fn refuse(task: &Task) {
    match &task.job {
        Job::Call { resource, .. } => task.fail(Failure::new("States.Runtime", cause(resource))),
        Job::MapRun { .. } => task.report(Report::MapRunFailed {
            failure: Failure::new("States.Runtime", "a function cannot run a distributed Map"),
        }),
    }
}

const SUPPORTED: &str = "functions (arn:aws:lambda:region:account:function:name, \
                         arn:aws:states:::lambda:invoke), URLs, activities \
                         (arn:aws:states:region:account:activity:name), executions \
                         (arn:aws:states:::states:startExecution), queues (arn:aws:states:::sqs:sendMessage, \
                         arn:aws:states:::aws-sdk:sqs:...) and operations of Step Functions \
                         (arn:aws:states:::aws-sdk:sfn:...)";

fn cause(resource: &Resource) -> String {
    match resource {
        Resource::Placeholder(text) => format!(
            "the resource '{text}' is a name that a deployment tool fills in: put the resource's ARN in \
             its place"
        ),
        other => format!(
            "the resource '{}' is not supported by this server: it runs {SUPPORTED}",
            other.as_str()
        ),
    }
}
