//! Who does the work that executions ask for: activity workers, other executions, functions.

use std::sync::{Arc, OnceLock, Weak};

use everstep_asl::model::Resource;
use everstep_runtime::{Cancelled, Job, Task, TaskRunner};

use crate::activities::Activities;
use crate::service::Service;

pub(crate) struct Runner {
    activities: Arc<Activities>,
    functions: Arc<dyn TaskRunner>,
    service: OnceLock<Weak<Service>>,
}

impl Runner {
    pub(crate) fn new(activities: Arc<Activities>, functions: Arc<dyn TaskRunner>) -> Self {
        Self { activities, functions, service: OnceLock::new() }
    }

    /// Tasks that start executions need the service, which needs this.
    pub(crate) fn attach(&self, service: &Arc<Service>) {
        self.service.get_or_init(|| Arc::downgrade(service));
    }
}

impl TaskRunner for Runner {
    fn dispatch(&self, task: Task) {
        let Job::Call { resource, .. } = &task.job else { return self.functions.dispatch(task) };
        match Resource::classify(resource) {
            Resource::Activity { arn } => self.activities.offer(&arn, task),
            _ => self.functions.dispatch(task),
        }
    }

    fn cancel(&self, cancelled: Cancelled) {
        self.functions.cancel(cancelled);
    }

    fn lacks_activity(&self, arn: &str) -> bool {
        self.activities.lacks(arn)
    }
}
