//! `SendTaskSuccess`. Of a wrong token and a wrong output, the service names the token.

use everstep_api::protocol::{Error, Name};
use everstep_executions::Report;
use everstep_history::Payload;

use super::{Answer, task_token};
use crate::args::Args;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    task_token::attempt(service, args)?;
    let output = read_output(args, service.environment.limits.payload_bytes)?;
    task_token::report(service, args, Report::Succeeded { output }).await
}

/// What the service says between the quotes is not known.
fn read_output(args: Args<'_>, bytes_max: usize) -> Result<Payload, Error> {
    let text = args.required("output");
    let invalid =
        |problem: String| args.error(Name::InvalidOutput, format!("Invalid Output: '{problem}'"));
    if text.len() > bytes_max {
        return Err(invalid(format!("the output is larger than {bytes_max} bytes")));
    }
    Payload::from_text(text).map_err(|error| invalid(error.to_string()))
}
