//! `Everstep.DescribeStory`: what an execution did and why, what is under way, and what can be done about it.
//!
//! Entries are only ever added, so a place in them is a number: `from` that many, at most `maxResults`.

use everstep_api::protocol::{Common, Error, Operation, timestamp};
use everstep_executions::Summary;
use everstep_story::action::{Action, Subject, actions};
use everstep_story::{Standing, Story};
use serde_json::{Value, json};

use super::Answer;
use super::describe_execution::{find, redrive_status};
use crate::args::Args;
use crate::service::{Service, engine_error};

/// A page ends early when its entries are larger than this together.
const PAGE_BYTES_MAX: usize = 4 << 20;

pub(crate) async fn run(service: &Service, body: &Value) -> Answer {
    let from = number(body, "from")?.unwrap_or(0);
    number(body, "maxResults")?;
    // Executions are named as `DescribeExecution` names them.
    let args = Args::new(Operation::DescribeExecution, body);
    let Some(arn) = args.text("executionArn") else {
        return Err(invalid("executionArn must be the ARN of an execution".to_owned()));
    };
    let (summary, limit) = (find(service, args, arn)?, args.page_size());
    let (stories, now_ms) = (service.stories.clone(), service.now_ms());
    let of = summary.clone();
    let read = move || stories.read(&of, now_ms, |story| page(story, from, limit));
    let (mut answer, standing) = service.history_turns.run(read).await?.map_err(engine_error)?;
    let prepared = service.reader.prepared(&summary).map_err(engine_error)?;
    answer["executionArn"] = summary.arn.as_str().into();
    answer["stateMachineArn"] = prepared.revision.machine_arn.as_str().into();
    answer["startDate"] = Value::Number(timestamp(summary.started_ms));
    answer["timeoutSeconds"] = prepared.program.machine.timeout_seconds.into();
    answer["actions"] = json!(actions_on(service, &summary, standing)?);
    Ok(answer)
}

/// What a user can do about an execution.
pub(crate) fn actions_on(
    service: &Service,
    summary: &Summary,
    standing: Standing,
) -> Result<Vec<Action>, Error> {
    let (redrive, _) = redrive_status(service, summary)?;
    // The summary may be older than the story.
    let is_redrivable = redrive == "REDRIVABLE" && standing != Standing::Running;
    Ok(actions(Subject { arn: &summary.arn, standing, is_redrivable }))
}

fn page(story: &Story, from: usize, limit: usize) -> (Value, Standing) {
    let entries = story.entries();
    let mut bytes = 0;
    let shown: Vec<Value> = entries
        .iter()
        .skip(from)
        .take(limit)
        .map(|entry| json!(entry))
        .take_while(|entry| {
            let fits = bytes <= PAGE_BYTES_MAX;
            bytes += entry.to_string().len();
            fits
        })
        .collect();
    let next = from.saturating_add(shown.len());
    let mut answer = json!(story.report());
    answer["entries"] = shown.into();
    if next < entries.len() {
        answer["nextFrom"] = next.into();
    }
    answer["entriesTotal"] = entries.len().into();
    (answer, story.standing())
}

fn number(body: &Value, name: &str) -> Result<Option<usize>, Error> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
            let wrong = || invalid(format!("{name} must be a non-negative number, not {value}"));
            number.map(Some).ok_or_else(wrong)
        }
    }
}

fn invalid(message: String) -> Error {
    Error::common(Common::Validation, message)
}
