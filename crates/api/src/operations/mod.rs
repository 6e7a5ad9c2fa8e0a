//! One file for each operation. Requests are checked against the model before they come here.

mod create_state_machine;
pub(crate) mod describe_execution;
mod describe_state_machine;
mod get_activity_task;
mod get_execution_history;
mod list_executions;
mod redrive_execution;
mod send_task_failure;
mod send_task_heartbeat;
mod send_task_success;
pub(crate) mod start_execution;
mod start_sync_execution;
mod stop_execution;
mod tags;
pub(crate) mod target;
mod task_token;
mod test_state;

pub(crate) use redrive_execution::Redrives;
use serde_json::Value;

use crate::args::Args;
use crate::protocol::{Common, Error, Operation};
use crate::service::Service;

/// What an operation answers.
type Answer = Result<Value, Error>;

pub(crate) async fn run(service: &Service, args: Args<'_>) -> Answer {
    match args.operation {
        Operation::CreateStateMachine => create_state_machine::run(service, args).await,
        Operation::DescribeExecution => describe_execution::run(service, args),
        Operation::DescribeStateMachine => describe_state_machine::run(service, args),
        Operation::GetActivityTask => get_activity_task::run(service, args).await,
        Operation::GetExecutionHistory => get_execution_history::run(service, args).await,
        Operation::ListExecutions => list_executions::run(service, args).await,
        Operation::RedriveExecution => redrive_execution::run(service, args).await,
        Operation::SendTaskFailure => send_task_failure::run(service, args).await,
        Operation::SendTaskHeartbeat => send_task_heartbeat::run(service, args).await,
        Operation::SendTaskSuccess => send_task_success::run(service, args).await,
        Operation::StartExecution => start_execution::run(service, args).await,
        Operation::StartSyncExecution => start_sync_execution::run(service, args).await,
        Operation::StopExecution => stop_execution::run(service, args).await,
        Operation::TestState => test_state::run(service, args).await,
        other => Err(Error::common(
            Common::UnknownOperation,
            format!("{} is not supported yet", other.name()),
        )),
    }
}
