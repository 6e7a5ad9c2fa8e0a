//! Tasks that move messages: `StartMessageMoveTask` and what belongs to it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use everstep_queues::{MoveStatus, MoveTask, MoveTaskId};
use everstep_sqs::{
    CancelMessageMoveTask, Error, ListMessageMoveTasks, Name, StartMessageMoveTask, name_of_arn,
    read, required, within,
};
use serde_json::{Value, json};

use super::{Answer, Queues, refusal};

impl Queues {
    pub(super) async fn start_move(&self, body: Value) -> Answer {
        let StartMessageMoveTask { source_arn, destination_arn, max_number_of_messages_per_second } =
            read(body)?;
        let source = self.existing("SourceArn", &required("SourceArn", source_arn)?)?;
        let destination = destination_arn.map(|arn| self.existing("DestinationArn", &arn));
        let destination = destination.transpose()?;
        let per_second =
            within("MaxNumberOfMessagesPerSecond", max_number_of_messages_per_second, (1, 500))?;
        if self.sources(&source).await?.is_empty() {
            let message = "Source queue must be configured as a Dead Letter Queue.";
            return Err(Error::new(Name::InvalidParameterValue, message));
        }
        let per_second = per_second.map(|limit| u32::try_from(limit).unwrap_or(500));
        let started = self
            .ask(|engine, reply| engine.start_move(&source, destination, per_second, reply))
            .await;
        let task = started.map_err(refusal)?;
        Ok(json!({ "TaskHandle": self.handle(&source, task) }))
    }

    pub(super) async fn cancel_move(&self, body: Value) -> Answer {
        let CancelMessageMoveTask { task_handle } = read(body)?;
        let (arn, task) = read_handle(&required("TaskHandle", task_handle)?)?;
        let source = self.existing("SourceArn", &arn)?;
        let moved = self.ask(|engine, reply| engine.cancel_move(&source, task, reply)).await;
        Ok(json!({ "ApproximateNumberOfMessagesMoved": moved.map_err(refusal)? }))
    }

    pub(super) async fn list_moves(&self, body: Value) -> Answer {
        let ListMessageMoveTasks { source_arn, max_results } = read(body)?;
        let source = self.existing("SourceArn", &required("SourceArn", source_arn)?)?;
        let limit = within("MaxResults", max_results, (1, 10))?.unwrap_or(1);
        let standing = self.ask(|engine, reply| engine.standing(&source, reply)).await;
        let standing = standing.map_err(refusal)?;
        let tasks = standing.move_tasks().iter().take(usize::try_from(limit).unwrap_or(1));
        let results: Vec<Value> = tasks.map(|task| self.show_task(&source, task)).collect();
        Ok(json!({ "Results": results }))
    }

    fn show_task(&self, source: &str, task: &MoveTask) -> Value {
        let mut shown = json!({
            "SourceArn": self.arn(source),
            "ApproximateNumberOfMessagesMoved": task.moved,
            "ApproximateNumberOfMessagesToMove": task.to_move,
            "StartedTimestamp": task.started_ms,
        });
        if let Some(destination) = &task.destination {
            shown["DestinationArn"] = self.arn(destination).into();
        }
        if let Some(per_second) = task.per_second {
            shown["MaxNumberOfMessagesPerSecond"] = per_second.into();
        }
        shown["Status"] = match &task.status {
            MoveStatus::Running => {
                shown["TaskHandle"] = self.handle(source, task.id).into();
                "RUNNING"
            }
            MoveStatus::Completed => "COMPLETED",
            MoveStatus::Cancelled => "CANCELLED",
            MoveStatus::Failed(reason) => {
                shown["FailureReason"] = reason.as_str().into();
                "FAILED"
            }
        }
        .into();
        shown
    }

    fn existing(&self, parameter: &str, arn: &str) -> Result<String, Error> {
        let missing = || {
            let message = format!(
                "The resource that you specified for the {parameter} parameter doesn't exist."
            );
            Error::new(Name::ResourceNotFound, message)
        };
        let name = name_of_arn(arn).ok_or_else(missing)?;
        let found = self.engine.find(name).map_err(refusal)?;
        found.map(|record| record.name).ok_or_else(missing)
    }

    fn handle(&self, source: &str, task: MoveTaskId) -> String {
        let handle = json!({ "taskId": task.0.to_string(), "sourceArn": self.arn(source) });
        STANDARD.encode(handle.to_string())
    }
}

/// The ARN of the source and the task of a handle.
fn read_handle(handle: &str) -> Result<(String, MoveTaskId), Error> {
    let read = || {
        let handle: Value = serde_json::from_slice(&STANDARD.decode(handle).ok()?).ok()?;
        let arn = handle["sourceArn"].as_str()?.to_owned();
        // A task of another making is none that exists.
        let task = handle["taskId"].as_str()?.parse().unwrap_or(u64::MAX);
        Some((arn, MoveTaskId(task)))
    };
    let invalid = "Value for parameter TaskHandle is invalid.";
    read().ok_or_else(|| Error::new(Name::InvalidParameterValue, invalid))
}
