//! One file for each operation. Requests are checked against the model before they come here.

mod aliases;
mod configuration;
mod create_activity;
mod create_state_machine;
mod create_state_machine_alias;
mod delete_activity;
mod delete_state_machine;
mod delete_state_machine_alias;
mod delete_state_machine_version;
mod describe_activity;
mod describe_execution;
mod describe_state_machine;
mod describe_state_machine_alias;
mod describe_state_machine_for_execution;
mod list_activities;
mod list_state_machine_aliases;
mod list_state_machine_versions;
mod list_state_machines;
mod list_tags_for_resource;
mod page;
mod publication;
mod publish_state_machine_version;
mod start_execution;
mod tag_resource;
mod tags;
mod target;
mod untag_resource;
mod update_state_machine;
mod update_state_machine_alias;
mod validate_state_machine_definition;

use serde_json::Value;

use crate::args::Args;
use crate::protocol::{Common, Error, Operation};
use crate::service::Service;

/// What an operation answers.
type Answer = Result<Value, Error>;

pub(crate) async fn run(service: &Service, args: Args<'_>) -> Answer {
    match args.operation {
        Operation::CreateActivity => create_activity::run(service, args).await,
        Operation::CreateStateMachine => create_state_machine::run(service, args).await,
        Operation::CreateStateMachineAlias => create_state_machine_alias::run(service, args).await,
        Operation::DeleteActivity => delete_activity::run(service, args).await,
        Operation::DeleteStateMachine => delete_state_machine::run(service, args).await,
        Operation::DeleteStateMachineAlias => delete_state_machine_alias::run(service, args).await,
        Operation::DeleteStateMachineVersion => {
            delete_state_machine_version::run(service, args).await
        }
        Operation::DescribeActivity => describe_activity::run(service, args),
        Operation::DescribeExecution => describe_execution::run(service, args),
        Operation::DescribeStateMachine => describe_state_machine::run(service, args).await,
        Operation::DescribeStateMachineAlias => describe_state_machine_alias::run(service, args),
        Operation::DescribeStateMachineForExecution => {
            describe_state_machine_for_execution::run(service, args)
        }
        Operation::ListActivities => list_activities::run(service, args),
        Operation::ListStateMachineAliases => list_state_machine_aliases::run(service, args),
        Operation::ListStateMachineVersions => list_state_machine_versions::run(service, args),
        Operation::ListStateMachines => list_state_machines::run(service, args).await,
        Operation::ListTagsForResource => list_tags_for_resource::run(service, args),
        Operation::PublishStateMachineVersion => {
            publish_state_machine_version::run(service, args).await
        }
        Operation::StartExecution => start_execution::run(service, args).await,
        Operation::TagResource => tag_resource::run(service, args).await,
        Operation::UntagResource => untag_resource::run(service, args).await,
        Operation::UpdateStateMachine => update_state_machine::run(service, args).await,
        Operation::UpdateStateMachineAlias => update_state_machine_alias::run(service, args).await,
        Operation::ValidateStateMachineDefinition => validate_state_machine_definition::run(args),
        other => Err(Error::common(
            Common::UnknownOperation,
            format!("{} is not supported yet", other.name()),
        )),
    }
}
