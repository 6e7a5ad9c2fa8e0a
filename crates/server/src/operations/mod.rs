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
pub(crate) mod describe_execution;
mod describe_map_run;
mod describe_state_machine;
mod describe_state_machine_alias;
mod describe_state_machine_for_execution;
pub(crate) mod describe_story;
mod get_activity_task;
pub(crate) mod get_execution_history;
mod list_activities;
mod list_executions;
mod list_map_runs;
mod list_state_machine_aliases;
mod list_state_machine_versions;
mod list_state_machines;
mod list_tags_for_resource;
mod page;
mod publication;
mod publish_state_machine_version;
mod redrive_execution;
mod send_task_failure;
mod send_task_heartbeat;
mod send_task_success;
pub(crate) mod start_execution;
mod start_sync_execution;
mod stop_execution;
mod tag_resource;
mod tags;
pub(crate) mod target;
mod task_token;
mod test_state;
mod untag_resource;
mod update_map_run;
mod update_state_machine;
mod update_state_machine_alias;
mod validate_state_machine_definition;

use std::sync::Arc;

use everstep_api::protocol::{Error, Operation};
use serde_json::Value;

use crate::args::Args;
use crate::service::Service;

/// What an operation answers.
type Answer = Result<Value, Error>;

pub(crate) async fn run(service: &Arc<Service>, args: Args<'_>) -> Answer {
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
        Operation::DescribeMapRun => describe_map_run::run(service, args),
        Operation::DescribeStateMachine => describe_state_machine::run(service, args).await,
        Operation::DescribeStateMachineAlias => describe_state_machine_alias::run(service, args),
        Operation::DescribeStateMachineForExecution => {
            describe_state_machine_for_execution::run(service, args)
        }
        Operation::GetActivityTask => get_activity_task::run(service, args).await,
        Operation::GetExecutionHistory => get_execution_history::run(service, args).await,
        Operation::ListActivities => list_activities::run(service, args),
        Operation::ListExecutions => list_executions::run(service, args).await,
        Operation::ListMapRuns => list_map_runs::run(service, args),
        Operation::ListStateMachineAliases => list_state_machine_aliases::run(service, args),
        Operation::ListStateMachineVersions => list_state_machine_versions::run(service, args),
        Operation::ListStateMachines => list_state_machines::run(service, args).await,
        Operation::ListTagsForResource => list_tags_for_resource::run(service, args),
        Operation::PublishStateMachineVersion => {
            publish_state_machine_version::run(service, args).await
        }
        Operation::RedriveExecution => redrive_execution::run(service, args).await,
        Operation::SendTaskFailure => send_task_failure::run(service, args).await,
        Operation::SendTaskHeartbeat => send_task_heartbeat::run(service, args).await,
        Operation::SendTaskSuccess => send_task_success::run(service, args).await,
        Operation::StartExecution => start_execution::run(service, args).await,
        Operation::StartSyncExecution => start_sync_execution::run(service, args).await,
        Operation::StopExecution => stop_execution::run(service, args).await,
        Operation::TagResource => tag_resource::run(service, args).await,
        Operation::TestState => test_state::run(service, args).await,
        Operation::UntagResource => untag_resource::run(service, args).await,
        Operation::UpdateMapRun => update_map_run::run(service, args).await,
        Operation::UpdateStateMachine => update_state_machine::run(service, args).await,
        Operation::UpdateStateMachineAlias => update_state_machine_alias::run(service, args).await,
        Operation::ValidateStateMachineDefinition => {
            validate_state_machine_definition::run(service, args).await
        }
    }
}
