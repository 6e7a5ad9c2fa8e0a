//! One file for each operation. Requests are checked against the model before they come here.

mod create_state_machine;
mod describe_execution;
mod describe_state_machine;
mod start_execution;
mod tags;
mod target;

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
        Operation::StartExecution => start_execution::run(service, args).await,
        other => Err(Error::common(
            Common::UnknownOperation,
            format!("{} is not supported yet", other.name()),
        )),
    }
}
