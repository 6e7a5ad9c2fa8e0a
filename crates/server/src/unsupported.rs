//! What nobody here can do is refused at once, and by name.

use everstep_asl::model::Resource;
use everstep_executions::{Cancelled, Job, Report, Task, TaskRunner};
use everstep_interpreter::Failure;

/// A runner of functions for a server that has none: each task fails, and its cause says why.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unsupported;

impl TaskRunner for Unsupported {
    fn dispatch(&self, task: Task) {
        refuse(&task);
    }

    fn cancel(&self, _cancelled: Cancelled) {}
}

/// Fails a task that nobody can run. `States.Runtime` is neither retried nor caught by `States.ALL`: no
/// retry would do better, and a catcher would hide what is wrong with the definition.
pub(crate) fn refuse(task: &Task) {
    match &task.job {
        Job::Call { resource, .. } => task.fail(Failure::new("States.Runtime", cause(resource))),
        Job::MapRun { .. } => task.report(Report::MapRunFailed {
            failure: Failure::new(
                "States.Runtime",
                "a Map Run is driven by the service itself, and is no task for a runner of functions",
            ),
        }),
    }
}

const SUPPORTED: &str = "activities (arn:aws:states:region:account:activity:name), executions \
                         (arn:aws:states:::states:startExecution) and the operations of Step \
                         Functions (arn:aws:states:::aws-sdk:sfn:...)";

fn cause(resource: &str) -> String {
    match Resource::classify(resource) {
        Resource::Placeholder(text) => format!(
            "the resource '{text}' is a name that a deployment tool fills in: put the resource's ARN in \
             its place"
        ),
        other => format!(
            "the resource '{}' is not supported by this server: besides the functions it is set up \
             with, it runs {SUPPORTED}",
            other.as_str()
        ),
    }
}
