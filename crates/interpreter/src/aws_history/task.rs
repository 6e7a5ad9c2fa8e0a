//! Events of tasks: the service has types of its own for Lambda functions and activities.

use everstep_asl::model::{Resource, Task};
use everstep_history::{Event, FailureStage, Payload};
use serde_json::{Value, json};

use super::details::{Described, bare, failed, plain, text};

fn limits(details: &mut Value, timeout: Option<u64>, heartbeat: Option<u64>) {
    if let Some(seconds) = timeout {
        details["timeoutInSeconds"] = json!(seconds);
    }
    if let Some(seconds) = heartbeat {
        details["heartbeatInSeconds"] = json!(seconds);
    }
}

fn role(details: &mut Value, credentials: Option<&Payload>) {
    if let Some(role) = credentials.and_then(|credentials| credentials.get("RoleArn")) {
        details["taskCredentials"] = json!({ "roleArn": role });
    }
}

pub(super) fn lambda(previous: u32, task: &Task, event: &Event) -> Described {
    match event {
        Event::TaskScheduled { parameters, timeout_seconds, credentials, .. } => {
            let mut details = text("input", parameters);
            details["resource"] = json!(task.resource.as_str());
            limits(&mut details, *timeout_seconds, None);
            role(&mut details, credentials.as_ref());
            plain(
                previous,
                "LambdaFunctionScheduled",
                "lambdaFunctionScheduledEventDetails",
                details,
            )
        }
        Event::TaskStarted { .. } => bare(previous, "LambdaFunctionStarted"),
        Event::TaskSucceeded { output, .. } => plain(
            previous,
            "LambdaFunctionSucceeded",
            "lambdaFunctionSucceededEventDetails",
            text("output", output),
        ),
        Event::TaskFailed { failure, stage, .. } => match stage {
            FailureStage::Schedule => plain(
                previous,
                "LambdaFunctionScheduleFailed",
                "lambdaFunctionScheduleFailedEventDetails",
                failed(failure),
            ),
            FailureStage::Start => plain(
                previous,
                "LambdaFunctionStartFailed",
                "lambdaFunctionStartFailedEventDetails",
                failed(failure),
            ),
            _ => plain(
                previous,
                "LambdaFunctionFailed",
                "lambdaFunctionFailedEventDetails",
                failed(failure),
            ),
        },
        Event::TaskTimedOut { failure, .. } => plain(
            previous,
            "LambdaFunctionTimedOut",
            "lambdaFunctionTimedOutEventDetails",
            failed(failure),
        ),
        _ => (previous, String::new(), None),
    }
}

pub(super) fn activity(previous: u32, task: &Task, event: &Event) -> Described {
    match event {
        Event::TaskScheduled { parameters, timeout_seconds, heartbeat_seconds, .. } => {
            let mut details = text("input", parameters);
            details["resource"] = json!(task.resource.as_str());
            limits(&mut details, *timeout_seconds, *heartbeat_seconds);
            plain(previous, "ActivityScheduled", "activityScheduledEventDetails", details)
        }
        Event::TaskStarted { worker, .. } => {
            let details = match worker {
                Some(worker) => json!({ "workerName": &**worker }),
                None => json!({}),
            };
            plain(previous, "ActivityStarted", "activityStartedEventDetails", details)
        }
        Event::TaskSucceeded { output, .. } => plain(
            previous,
            "ActivitySucceeded",
            "activitySucceededEventDetails",
            text("output", output),
        ),
        Event::TaskFailed { failure, stage: FailureStage::Schedule, .. } => plain(
            previous,
            "ActivityScheduleFailed",
            "activityScheduleFailedEventDetails",
            failed(failure),
        ),
        Event::TaskFailed { failure, .. } => {
            plain(previous, "ActivityFailed", "activityFailedEventDetails", failed(failure))
        }
        Event::TaskTimedOut { failure, .. } => {
            plain(previous, "ActivityTimedOut", "activityTimedOutEventDetails", failed(failure))
        }
        _ => (previous, String::new(), None),
    }
}

pub(super) fn service(
    previous: u32,
    resource: &Resource,
    region: &str,
    event: &Event,
) -> Described {
    let (resource_type, action) = match resource {
        Resource::Service { service, action, sdk, pattern, .. } => (
            if *sdk { format!("aws-sdk:{service}") } else { service.clone() },
            format!("{action}{}", pattern.suffix()),
        ),
        other => ("task".to_owned(), other.as_str().to_owned()),
    };
    let named = |mut details: Value| {
        details["resource"] = json!(action);
        details["resourceType"] = json!(resource_type);
        details
    };
    match event {
        Event::TaskScheduled {
            parameters,
            timeout_seconds,
            heartbeat_seconds,
            credentials,
            ..
        } => {
            let mut details = json!({ "parameters": parameters.text(), "region": region });
            limits(&mut details, *timeout_seconds, *heartbeat_seconds);
            role(&mut details, credentials.as_ref());
            plain(previous, "TaskScheduled", "taskScheduledEventDetails", named(details))
        }
        Event::TaskStarted { .. } => {
            plain(previous, "TaskStarted", "taskStartedEventDetails", named(json!({})))
        }
        Event::TaskSubmitted { output, .. } => plain(
            previous,
            "TaskSubmitted",
            "taskSubmittedEventDetails",
            named(text("output", output)),
        ),
        Event::TaskSucceeded { output, .. } => plain(
            previous,
            "TaskSucceeded",
            "taskSucceededEventDetails",
            named(text("output", output)),
        ),
        Event::TaskFailed { failure, stage, .. } => {
            let details = named(failed(failure));
            match stage {
                FailureStage::Submit => {
                    plain(previous, "TaskSubmitFailed", "taskSubmitFailedEventDetails", details)
                }
                FailureStage::Start => {
                    plain(previous, "TaskStartFailed", "taskStartFailedEventDetails", details)
                }
                _ => plain(previous, "TaskFailed", "taskFailedEventDetails", details),
            }
        }
        Event::TaskTimedOut { failure, .. } => {
            plain(previous, "TaskTimedOut", "taskTimedOutEventDetails", named(failed(failure)))
        }
        _ => (previous, String::new(), None),
    }
}
