//! `ListStateMachines`: by name.

use everstep_api::protocol::timestamp;
use serde_json::json;

use super::describe_state_machine::shown_type;
use super::{Answer, page};
use crate::args::Args;
use crate::catalog::{Machine, Order};
use crate::removal;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    removal::look(service).await?;
    page::of(
        service,
        args,
        (Machine::PREFIX, Order::Rising),
        "stateMachines",
        |machine: &Machine| {
            json!({
                "stateMachineArn": machine.arn,
                "name": machine.name,
                "type": shown_type(machine.express),
                "creationDate": timestamp(machine.created_ms),
            })
        },
    )
}
