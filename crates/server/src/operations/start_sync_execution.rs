//! `StartSyncExecution`: starts an execution of an EXPRESS workflow and waits for its end. Whoever waits
//! may disconnect: the execution continues.

use everstep_api::protocol::{Error, Name, timestamp};
use everstep_executions::{Ended, Error as Engine};
use everstep_interpreter::Status;
use serde_json::{Value, json};

use super::Answer;
use super::describe_execution::add_failure;
use super::start_execution::{Begun, begin};
use super::target;
use crate::args::Args;
use crate::service::{Service, engine_error};
use crate::test_case;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let (machine_arn, _) = test_case::split(service, args.required("stateMachineArn"));
    if !target::named(service, args, machine_arn)?.express {
        return Err(wrong_type(args));
    }
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let watcher = Box::new(move |ended| {
        let _ = sender.send(ended);
    });
    let begun = begin(service, args, None, Some(watcher)).await?;
    let ended = receiver.await.unwrap_or(Err(Engine::Stopped)).map_err(engine_error)?;
    Ok(described(args, &begun, &ended))
}

fn described(args: Args<'_>, begun: &Begun, ended: &Ended) -> Value {
    let data = args.text("includedData") != Some("METADATA_ONLY");
    let mut answer = json!({
        "executionArn": begun.arn,
        "stateMachineArn": begun.target.machine.arn,
        "name": begun.name,
        "startDate": timestamp(ended.started_ms),
        "stopDate": timestamp(ended.stopped_ms),
        "inputDetails": { "included": data },
        "billingDetails": billed(ended.stopped_ms - ended.started_ms),
    });
    if data {
        answer["input"] = begun.input.text().into();
    }
    if let Some(header) = args.text("traceHeader") {
        answer["traceHeader"] = header.into();
    }
    match &ended.status {
        Status::Succeeded { output } => {
            answer["status"] = "SUCCEEDED".into();
            answer["outputDetails"] = json!({ "included": data });
            if data {
                answer["output"] = output.text().into();
            }
        }
        Status::TimedOut => {
            answer["status"] = "TIMED_OUT".into();
            add_failure(&mut answer, &begun.target.prepared.program.timeout());
        }
        Status::Failed { failure } | Status::Aborted { failure } => {
            answer["status"] = "FAILED".into();
            if data {
                add_failure(&mut answer, failure);
            }
        }
        Status::Running => {}
    }
    answer
}

/// As the service bills: by 100 ms and 64 MB, begun ones counted whole.
fn billed(ms: i64) -> Value {
    let begun = u64::try_from(ms).unwrap_or(0).div_ceil(100).max(1);
    json!({ "billedMemoryUsedInMB": 64, "billedDurationInMilliseconds": begun * 100 })
}

/// What is said of a workflow of the other type.
pub(super) fn wrong_type(args: Args<'_>) -> Error {
    let message = "This operation is not supported by this type of state machine";
    args.error(Name::StateMachineTypeNotSupported, message)
}
