//! The event for an execution that failed: EventBridge's "Step Functions Execution Status Change", so that
//! handlers which were written for that need not change.

use everstep_api::protocol::Error;
use everstep_executions::{Notification, Summary};
use everstep_history::Event;
use serde_json::{Value, json};

use crate::operations::describe_execution::{redrive_status, status};
use crate::operations::start_execution::label;
use crate::operations::target::{ALIAS, VERSION};
use crate::service::{Service, engine_error};

/// As large as an event of EventBridge may be.
const BYTES_MAX: usize = 256 * 1024;

impl Service {
    /// The event that reports a failure, or nothing if the execution is gone. Waits for the store.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub fn status_change(&self, notification: &Notification) -> Result<Option<Value>, Error> {
        let summary = self.reader.summary(notification.execution).map_err(engine_error)?;
        let Some(summary) = summary.filter(|now| now.started_ms == notification.started_ms) else {
            return Ok(None);
        };
        let steps = self.reader.first_and_last(&summary).map_err(engine_error)?;
        let started = |event: &Event| match event {
            Event::ExecutionStarted { input, .. } => Some(input.text()),
            _ => None,
        };
        let input = steps.and_then(|(first, _)| first.iter().find_map(started));
        let Some(input) = input else { return Ok(None) };
        let machine = self.reader.prepared(&summary).map_err(engine_error)?;
        let redrive = redrive_status(self, &as_it_was(&summary, notification))?;
        let machine_arn = &machine.revision.machine_arn;
        let mut event =
            self.event(notification, detail(notification, &summary, machine_arn, &input, redrive));
        event["everstep"] = json!({ "depth": depth(&input) + 1 });
        Ok(Some(fitting(event, BYTES_MAX.min(self.environment.limits.payload_bytes))))
    }

    fn event(&self, notification: &Notification, detail: Value) -> Value {
        json!({
            "version": "0",
            "id": notification.id(),
            "detail-type": "Step Functions Execution Status Change",
            "source": "aws.states",
            "account": self.environment.account,
            "time": seconds(notification.ending.stopped_ms),
            "region": self.environment.region,
            "resources": [&*notification.execution_arn],
            "detail": detail,
        })
    }
}

/// How many failures led to this one: an execution that was started with such an event has it in its input.
fn depth(input: &str) -> u64 {
    let told = |input: Value| input.get("everstep")?.get("depth")?.as_u64();
    serde_json::from_str(input).ok().and_then(told).unwrap_or(0)
}

/// `2019-02-26T19:42:21Z`
fn seconds(at_ms: i64) -> String {
    let text = everstep_expr::timestamp::format_millis(at_ms);
    format!("{}Z", text.split('.').next().unwrap_or_default())
}

/// The execution at the end that is reported: it may have been redriven since.
fn as_it_was(now: &Summary, notification: &Notification) -> Summary {
    let ending = &notification.ending;
    Summary {
        standing: ending.standing,
        stopped_ms: Some(ending.stopped_ms),
        redrives: ending.redrives,
        redriven_ms: ending.redriven_ms,
        ..now.clone()
    }
}

fn detail(
    notification: &Notification,
    summary: &Summary,
    machine_arn: &str,
    input: &str,
    (redrive_status, redrive_reason): (&str, Option<&str>),
) -> Value {
    let ending = &notification.ending;
    json!({
        "executionArn": &*notification.execution_arn,
        "stateMachineArn": machine_arn,
        "name": notification.execution_arn.rsplit(':').next(),
        "status": status(ending.standing),
        "startDate": notification.started_ms,
        "stopDate": ending.stopped_ms,
        "input": input,
        "output": null,
        "stateMachineVersionArn": label(summary, VERSION),
        "stateMachineAliasArn": label(summary, ALIAS),
        "redriveCount": ending.redrives,
        "redriveDate": ending.redriven_ms,
        "redriveStatus": redrive_status,
        "redriveStatusReason": redrive_reason,
        "inputDetails": { "included": true },
        "outputDetails": null,
        "error": ending.error,
        "cause": ending.cause,
    })
}

/// Without its input if it is too large, as EventBridge has it; and with as much of its cause as fits.
fn fitting(mut event: Value, bytes_max: usize) -> Value {
    let is_too_large = |event: &Value| event.to_string().len() > bytes_max;
    if is_too_large(&event) {
        event["detail"]["input"] = Value::Null;
        event["detail"]["inputDetails"] = json!({ "included": false });
    }
    while is_too_large(&event)
        && let Some(cause) = event["detail"]["cause"].as_str().filter(|cause| cause.len() > 1)
    {
        let half = cause[..cause.floor_char_boundary(cause.len() / 2)].to_owned();
        event["detail"]["cause"] = half.into();
    }
    event
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(input: usize, cause: usize, expected: (bool, usize)) {
        let detail = json!({
            "input": "\"".repeat(input),
            "inputDetails": { "included": true },
            "cause": "é".repeat(cause),
        });
        let event = fitting(json!({ "detail": detail }), 1000);
        assert!(event.to_string().len() <= 1000);
        let detail = &event["detail"];
        let included = detail["inputDetails"]["included"] == true;
        assert_eq!(included, !detail["input"].is_null());
        let cause = detail["cause"].as_str().map_or(0, |cause| cause.chars().count());
        assert_eq!((included, cause), expected, "{input} {cause}");
    }

    #[test]
    fn failures_that_lead_to_failures_are_counted() {
        assert_eq!(depth(r#"{"detail":{},"everstep":{"depth":3}}"#), 3);
        for input in ["", "7", "{}", r#"{"everstep":{"depth":"many"}}"#] {
            assert_eq!(depth(input), 0, "{input}");
        }
    }

    #[test]
    fn what_is_too_large_is_left_out() {
        check(100, 10, (true, 10));
        check(600, 10, (false, 10));
        check(600, 400, (false, 400));
        check(0, 800, (false, 400));
        check(0, 8000, (false, 250));
    }
}
