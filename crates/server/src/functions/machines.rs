//! State machines as functions: what starts one by a trigger is an invocation, so it is accepted, retried and kept as all
//! others are. It succeeds when the execution has been started; the execution has the name that its key gives.

use std::sync::{Arc, OnceLock, Weak};

use everstep_api::protocol::Operation;
use everstep_invocations::{Attempt, Failure, FunctionSettings, Outcome, Terms};
use everstep_retry::Class;
use serde_json::json;

use crate::Service;

/// What stands for a state machine among functions. No function can have such a name.
const PREFIX: &str = "stateMachine:";

/// Starts of one machine at a time.
const CONCURRENCY: u32 = 64;

#[derive(Default)]
pub(super) struct Machines {
    service: OnceLock<Weak<Service>>,
}

/// How a state machine is called among functions.
pub(crate) fn function_of(machine: &str) -> String {
    format!("{PREFIX}{machine}")
}

/// The state machine that a function stands for.
pub(super) fn machine_of(function: &str) -> Option<&str> {
    function.strip_prefix(PREFIX)
}

impl Machines {
    pub(super) fn connect(&self, service: &Arc<Service>) {
        let _ = self.service.set(Arc::downgrade(service));
    }

    /// What is done about failures is up to the trigger.
    pub(super) fn settings(&self, machine: &str) -> Arc<FunctionSettings> {
        let service = self.service.get().and_then(Weak::upgrade);
        let arn = service.map(|service| service.machine_arn(machine)).unwrap_or_default();
        Arc::new(FunctionSettings {
            version: "$LATEST".to_owned(),
            concurrency: CONCURRENCY,
            throttles: false,
            failures_answer: true,
            event_age_max_ms: None,
            terms: Terms { arn, ..Terms::default() },
        })
    }

    /// Starts an execution. None if the server stops.
    pub(super) async fn start(&self, machine: &str, attempt: &Attempt) -> Option<Outcome> {
        let service = self.service.get()?.upgrade()?;
        let name = attempt.key.clone().unwrap_or_else(|| attempt.invocation.to_string());
        let arn = service.machine_arn(machine);
        let body = json!({
            "stateMachineArn": arn,
            "name": name,
            "input": String::from_utf8_lossy(&attempt.payload),
        });
        let output = match service.call(Operation::StartExecution, &body).await {
            Ok(started) => started,
            // It was started before, by this event: the name says so.
            Err(error) if error.name() == "ExecutionAlreadyExists" => {
                json!({ "executionArn": execution_arn(&arn, &name) })
            }
            Err(error) => return Some(failed(error.name(), error.message())),
        };
        let output = output.to_string().into_bytes();
        Some(Outcome::Succeeded { output, worker_pid: None, log: Vec::new() })
    }
}

fn execution_arn(machine_arn: &str, name: &str) -> String {
    format!("{}:{name}", machine_arn.replace(":stateMachine:", ":execution:"))
}

fn failed(name: &str, message: &str) -> Outcome {
    let mut failure = Failure::new(name, Class::Runtime, message);
    failure.permanent = matches!(name, "InvalidExecutionInput" | "InvalidName" | "InvalidArn");
    Outcome::Failed { failure, payload: None, worker_pid: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_have_names_that_no_function_has() {
        assert_eq!(machine_of(&function_of("order")), Some("order"));
        assert_eq!(machine_of("order"), None);
        assert_eq!(
            execution_arn("arn:aws:states:r:1:stateMachine:m", "n"),
            "arn:aws:states:r:1:execution:m:n"
        );
    }
}
