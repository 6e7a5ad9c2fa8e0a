//! `GetActivityTask`: a worker waits for the next task of an activity.

use std::time::Duration;

use everstep_api::arn::{Arn, Kind, wrong_kind};
use everstep_api::protocol::Name;
use everstep_executions::{Error as Engine, Job, Message, Report};
use serde_json::json;
use tokio::time::Instant;

use super::Answer;
use super::target::invalid_arn;
use crate::activities::Taken;
use crate::args::Args;
use crate::service::{Service, engine_error};

/// How long a worker waits for a task before it is told that there is none.
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
    let until = Instant::now() + POLL;
    loop {
        let polled = service.activities.poll(arn, until).await;
        let Some(taken) = polled.map_err(|_| {
            let message = "The maximum number of workers concurrently polling for activity tasks \
                           has been reached.";
            args.error(Name::ActivityWorkerLimitExceeded, message)
        })?
        else {
            return Ok(json!({}));
        };
        match start(service, args, &taken).await {
            Ok(()) => return Ok(handed_over(taken)),
            Err(Engine::Settled | Engine::NoSuchTask | Engine::NotFound) => {
                taken.hand_over();
            }
            Err(other) => return Err(engine_error(other)),
        }
    }
}

async fn start(
    service: &Service,
    args: Args<'_>,
    taken: &Taken,
) -> everstep_executions::Result<()> {
    let (id, attempt) = (taken.task().execution, taken.task().attempt);
    let report = Report::Started { worker: args.text("workerName").map(Into::into) };
    service.ask(|reply| Message::Report { id, attempt, report, reply: Some(reply) }).await
}

fn handed_over(taken: Taken) -> serde_json::Value {
    let task = taken.hand_over();
    let input = match &task.job {
        Job::Call { parameters, .. } => parameters.text(),
        Job::MapRun { plan, .. } => plan.inputs.text(),
    };
    json!({ "taskToken": task.token(), "input": input })
}
