//! Who does the work that executions ask for: activity workers, this very service, functions.

use std::sync::{Arc, Weak};

use everstep_asl::model::{Pattern, Resource};
use everstep_executions::{Cancelled, Failed, Job, Task, TaskRunner};
use tokio::runtime::Handle;
use tokio::sync::watch;

use crate::activities::Activities;
use crate::map_run::{self, MapRuns};
use crate::service::Service;
use crate::test_case::TestCases;
use crate::{callback, nested, unsupported};

pub(crate) struct Runner {
    activities: Arc<Activities>,
    functions: Arc<dyn TaskRunner>,
    /// Where work that waits is done: both methods are called on the engine's own threads.
    runtime: Handle,
    test_cases: Option<Arc<dyn TestCases>>,
    service: watch::Sender<Option<Weak<Service>>>,
    pub(crate) map_runs: MapRuns,
}

impl Runner {
    /// Must be called within a Tokio runtime.
    pub(crate) fn new(
        activities: Arc<Activities>,
        functions: Arc<dyn TaskRunner>,
        test_cases: Option<Arc<dyn TestCases>>,
    ) -> Self {
        let service = watch::Sender::new(None);
        let (runtime, map_runs) = (Handle::current(), MapRuns::default());
        Self { activities, functions, runtime, test_cases, service, map_runs }
    }

    /// Tasks that call the service need it, which needs this. They may come before it is there, and wait.
    pub(crate) fn attach(&self, service: &Arc<Service>) {
        self.service.send_replace(Some(Arc::downgrade(service)));
    }
}

impl TaskRunner for Runner {
    fn dispatch(&self, task: Task) {
        let task = match &self.test_cases {
            Some(test_cases) => test_cases.answer(task),
            None => Some(task),
        };
        let Some(task) = task else { return };
        let Job::Call { resource, .. } = &task.job else {
            let helm = self.map_runs.open(&task);
            self.runtime.spawn(map_run::run(self.service.subscribe(), task, helm));
            return;
        };
        let resource = Resource::classify(resource);
        let task = match resource.pattern() {
            Pattern::WaitForTaskToken => callback::awaited(task),
            _ => task,
        };
        match resource {
            Resource::Activity { arn } => self.activities.offer(&arn, task),
            Resource::Placeholder(_) => unsupported::refuse(&task),
            resource => match nested::errand(&resource) {
                Some(errand) => {
                    self.runtime.spawn(nested::run(self.service.subscribe(), task, errand));
                }
                None => self.functions.dispatch(task),
            },
        }
    }

    fn cancel(&self, cancelled: Cancelled) {
        if self.activities.cancel(&cancelled) {
            return;
        }
        let Some(cancelled) = self.map_runs.cancel(cancelled) else { return };
        self.functions.cancel(cancelled.clone());
        // Tasks of EXPRESS workflows never wait for an execution that they have started.
        if !cancelled.execution_arn.contains(":express:") {
            self.runtime.spawn(nested::cancel(self.service.subscribe(), cancelled));
        }
    }

    fn tell(&self, failed: Failed) {
        self.functions.tell(failed);
    }

    fn lacks_activity(&self, arn: &str) -> bool {
        self.activities.lacks(arn)
    }
}
