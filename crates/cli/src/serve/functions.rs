//! Tasks that nothing here can run are told so at once.

use everstep_interpreter::{Failure, FailureStage};
use everstep_runtime::{Cancelled, Job, Report, Task, TaskRunner};

pub(crate) struct NoFunctions;

impl TaskRunner for NoFunctions {
    fn dispatch(&self, task: Task) {
        let cause = match &task.job {
            Job::Call { resource, .. } => format!(
                "there is nothing here that runs {resource}: activities and nested executions are supported"
            ),
            Job::MapRun { .. } => "distributed Map states are not supported yet".to_owned(),
        };
        let failure = Failure::new("States.Runtime", cause);
        task.report(match task.job {
            Job::Call { .. } => Report::Failed { failure, stage: FailureStage::Schedule },
            Job::MapRun { .. } => Report::MapRunFailed { failure },
        });
    }

    fn cancel(&self, _cancelled: Cancelled) {}
}
