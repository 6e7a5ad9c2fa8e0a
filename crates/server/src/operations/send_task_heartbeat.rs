//! `SendTaskHeartbeat`: a sign of life, which no history shows.

use everstep_executions::Message;

use super::{Answer, task_token};
use crate::args::Args;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let (id, attempt) = task_token::attempt(service, args)?;
    let said = service.ask(|reply| Message::Heartbeat { id, attempt, reply }).await;
    task_token::answer(args, said)
}
