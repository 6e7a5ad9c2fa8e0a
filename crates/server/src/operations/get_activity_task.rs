//! `GetActivityTask`: a worker waits for the next task of an activity.

use std::time::Duration;

use everstep_api::arn::{Arn, Kind, wrong_kind};
use everstep_api::protocol::Name;
use everstep_executions::{Error as Engine, Job, Message, Report, Task};
use serde_json::json;
use tokio::time::Instant;

use super::Answer;
use super::target::invalid_arn;
use crate::activities::Event;
use crate::args::Args;
use crate::service::{Service, engine_error};

/// How long a worker waits for a task before it is answered that there is none.
const POLL: Duration = Duration::from_secs(60);

/// A task leaves only when it is durable that a worker has it. One that nobody waits for any more is
/// passed over. Nothing at all says that there is none: SDKs read it as they read null.
pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let arn = args.required("activityArn");
    let parsed = Arn::parse(arn).map_err(|wrong| invalid_arn(args, wrong.0))?;
    let Kind::Activity { .. } = parsed.kind else {
        return Err(invalid_arn(args, wrong_kind(arn)));
    };
    if service.activities.lacks(arn) {
        let message = format!("Activity Does Not Exist: '{arn}'");
        return Err(args.error(Name::ActivityDoesNotExist, message));
    }
    let (mut worker, until) = (service.activities.worker(arn), Instant::now() + POLL);
    let mut failure = Engine::Stopped;
    loop {
        match worker.next(until).await {
            None => return Ok(json!({})),
            Some(Event::Give(task)) => return Ok(given(service, &task)),
            Some(Event::Start(id, attempt)) => {
                let report = Report::Started { worker: args.text("workerName").map(Into::into) };
                let started = service
                    .ask(|reply| Message::Report { id, attempt, report, reply: Some(reply) })
                    .await;
                worker.started(&started);
                failure = started.err().unwrap_or(failure);
            }
            Some(Event::Fail) => return Err(engine_error(failure)),
            Some(Event::Refuse) => {
                let message = "The maximum number of workers concurrently polling for activity \
                               tasks has been reached.";
                return Err(args.error(Name::ActivityWorkerLimitExceeded, message));
            }
        }
    }
}

fn given(service: &Service, task: &Task) -> serde_json::Value {
    let input = match &task.job {
        Job::Call { parameters, .. } => parameters.text(),
        Job::MapRun { plan, .. } => plan.inputs.text(),
    };
    let token = service.token_key.token(&task.execution_arn, task.attempt);
    json!({ "taskToken": token, "input": input })
}
