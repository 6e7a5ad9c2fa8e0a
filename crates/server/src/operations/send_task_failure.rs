//! `SendTaskFailure`.

use everstep_executions::Report;
use everstep_interpreter::Failure;

use super::{Answer, task_token};
use crate::args::Args;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let failure = Failure {
        error: args.text("error").map(Into::into),
        cause: args.text("cause").map(Into::into),
    };
    task_token::report(service, args, Report::Raised { failure }).await
}
