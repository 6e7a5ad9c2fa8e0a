//! Who runs a task: one table, from the kind of its resource to the runner.

use std::sync::Arc;

use everstep_asl::error_name::PERMISSIONS;
use everstep_asl::model::{Pattern, Resource};
use everstep_drivers::callback;
use everstep_executions::{
    Cancelled, Job, Mailbox, Message, Notification, Report, Task, TaskRunner,
};
use everstep_interpreter::Failure;

use crate::nested::Call;
use crate::service::Service;
use crate::{map_run, nested, queues, unsupported};

/// Delivers notifications of failed executions.
pub trait Notifier: Send + Sync {
    /// Called on a thread of the engine, so it may not wait. Called again after each start until
    /// [`Notification::delivered`] is, and after [`Notification::retry`].
    fn notify(self: Arc<Self>, notification: Notification);
}

/// Learns of tasks that fail. Methods are called on threads that may not wait.
pub trait TaskObserver: Send + Sync {
    /// A task's runner reported a failure. Whether the execution still waits for it is not known yet.
    fn task_failed(&self, execution_arn: &str, state: &str, failure: &Failure);

    /// A notification of a failed execution is about to be delivered.
    fn notifying(&self, notification: &Notification);
}

/// The runner that the engine is started with.
pub(crate) struct Dispatcher {
    pub(crate) service: Arc<Service>,
    pub(crate) notifier: Option<Arc<dyn Notifier>>,
}

/// What runs a task.
enum Kind {
    MapRun,
    Activity {
        arn: String,
    },
    /// An operation of this service, such as starting an execution.
    Operation(Call),
    /// A function, here or at a Lambda endpoint.
    Function,
    /// An operation of SQS.
    Queue(queues::TaskCall),
    /// A service behind a URL.
    Http,
    Unsupported,
}

impl Kind {
    fn of(job: &Job) -> (Self, Pattern) {
        let Job::Call { resource, .. } = job else { return (Self::MapRun, Pattern::Sync) };
        let kind = match &**resource {
            Resource::Activity { arn } => Self::Activity { arn: arn.clone() },
            Resource::Lambda { .. } => Self::Function,
            Resource::Service { .. } if resource.is_lambda() => Self::Function,
            Resource::Service { .. } => match nested::call(resource) {
                Some(call) => Self::Operation(call),
                None => queues::task_call(resource).map_or(Self::Unsupported, Self::Queue),
            },
            Resource::Uri(uri) if uri.starts_with("http://") || uri.starts_with("https://") => {
                Self::Http
            }
            Resource::Uri(_) | Resource::Placeholder(_) => Self::Unsupported,
        };
        (kind, resource.pattern())
    }
}

/// Hands a task to what runs it. Never waits.
pub(crate) fn dispatch(service: &Arc<Service>, task: Task) {
    let task = observed(service, task);
    let task = match &service.test_cases {
        Some(test_cases) => test_cases.answer(task),
        None => Some(task),
    };
    let Some(task) = task else { return };
    let (kind, pattern) = Kind::of(&task.job);
    let task = match pattern {
        Pattern::WaitForTaskToken => callback::awaiting(task),
        _ => task,
    };
    match kind {
        Kind::MapRun => {
            let inbox = service.map_runs.open(&task);
            service.spawn(map_run::run(service.clone(), task, inbox));
        }
        Kind::Activity { arn } => service.activities.offer(&arn, task),
        Kind::Operation(call) => {
            let open = service.calls.open(task.execution, task.attempt);
            service.spawn(nested::run(service.clone(), task, call, open));
        }
        Kind::Queue(call) => match &service.queues {
            Some(all) => service.spawn(queues::run_task(service.clone(), all.clone(), task, call)),
            None => unsupported::refuse(&task),
        },
        Kind::Http if !service.environment.http_tasks => task.fail(urls_are_refused()),
        Kind::Function | Kind::Http => service.tasks.dispatch(task),
        Kind::Unsupported => unsupported::refuse(&task),
    }
}

fn urls_are_refused() -> Failure {
    let cause = "this server does not call URLs for tasks: start it with --http-tasks allow";
    Failure::new(PERMISSIONS, cause)
}

impl TaskRunner for Dispatcher {
    fn dispatch(&self, task: Task) {
        dispatch(&self.service, task);
    }

    fn cancel(&self, cancelled: Cancelled) {
        let service = &self.service;
        if service.activities.cancel(&cancelled) {
            return;
        }
        let Some(cancelled) = service.map_runs.cancel(cancelled) else { return };
        service.tasks.cancel(cancelled.clone());
        // Tasks of EXPRESS workflows never wait for an execution that they have started.
        if !cancelled.execution_arn.contains(":express:") {
            service.calls.hold(cancelled.execution, cancelled.attempt, cancelled.clone());
            service.spawn(nested::cancel(service.clone(), cancelled));
        }
    }

    fn notify(&self, notification: Notification) {
        let Some(notifier) = &self.notifier else { return };
        if let Some(observer) = &self.service.task_observer {
            observer.notifying(&notification);
        }
        notifier.clone().notify(notification);
    }

    fn lacks_activity(&self, arn: &str) -> bool {
        self.service.activities.lacks(arn)
    }
}

/// The same task, whose failures the observer learns of.
fn observed(service: &Service, task: Task) -> Task {
    let Some(observer) = service.task_observer.clone() else { return task };
    let (execution_arn, state) = (task.execution_arn.clone(), task.state.clone());
    task.with_mailbox(|mailbox| Arc::new(Observed { execution_arn, state, observer, mailbox }))
}

struct Observed {
    execution_arn: Arc<str>,
    state: Arc<str>,
    observer: Arc<dyn TaskObserver>,
    mailbox: Arc<dyn Mailbox<Message>>,
}

impl Mailbox<Message> for Observed {
    fn post(&self, message: Message) {
        if let Message::Report { report, .. } = &message
            && let Report::Failed { failure, .. } | Report::Raised { failure } = report
        {
            self.observer.task_failed(&self.execution_arn, &self.state, failure);
        }
        self.mailbox.post(message);
    }
}
