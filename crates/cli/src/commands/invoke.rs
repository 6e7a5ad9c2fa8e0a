//! `everstep invoke`: one call of a function of a server.

use anyhow::{Context as _, anyhow};
use clap::Args;
use everstep_story::invocation::failure;

use crate::exit::Exit;
use crate::input;
use crate::output::Stream;
use crate::remote::invocation_watch::{InvocationWatch, describe_failure};
use crate::remote::lambda::{Answer, Call, InvocationType};
use crate::remote::{Api, Connection, display, names};

/// Invoke a function and print its response
///
/// Like `aws lambda invoke`. A synchronous call runs once. With --async, the server keeps the invocation and
/// retries it until it succeeds or no retry is left.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Invoke {
    /// Name or ARN of the function
    function: String,
    /// Event: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, default_value = "{}", value_name = "JSON", allow_hyphen_values = true)]
    payload: String,
    /// Invoke asynchronously: print the id, and retry by the function's policy
    #[arg(long = "async", conflicts_with = "dry_run")]
    asynchronous: bool,
    /// With --async: wait until it ends, and report each failed attempt
    #[arg(long, requires = "asynchronous")]
    wait: bool,
    /// Only check whether the function can be invoked
    #[arg(long)]
    dry_run: bool,
    /// Idempotency key: calls with the same key run once and share the response
    #[arg(long)]
    key: Option<String>,
    /// Print the response with its status, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

const AFTER_HELP: &str = "\
Examples:
  everstep invoke charge --payload '{\"orderId\": 17}'
  everstep invoke charge --payload @order.json | jq .receipt
  everstep invoke charge --payload @order.json --async
  everstep invoke charge --payload @order.json --async --wait
  everstep invoke charge --payload @order.json --key order-17
  everstep invoke charge --dry-run

Requests are signed if EVERSTEP_ACCESS_KEYS=ID:SECRET is set, or
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Exit codes:
  0    success; with --async, accepted; with --dry-run, can be invoked
  1    the function failed; standard error has its error, message and stack
  2    invalid arguments, unreadable file, no connection, or the server rejected
       the request
  130  interrupted by Ctrl-C; an accepted invocation keeps running";

impl Invoke {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let payload = input::text("--payload", &self.payload)?;
        let invocation_type = match (self.asynchronous, self.dry_run) {
            (true, _) => InvocationType::Event,
            (_, true) => InvocationType::DryRun,
            _ => InvocationType::RequestResponse,
        };
        let api = self.connection.open()?;
        let call =
            Call { function: &self.function, invocation_type, payload, key: self.key.as_deref() };
        let answer = called(&api, call)?;
        if self.wait {
            return awaited(&api, &self.function, &answer.id, self.json);
        }
        let exit = if answer.failed { Exit::Problems } else { Exit::Good };
        if self.json {
            display::json(&answer.to_json())?;
            return Ok(exit);
        }
        match invocation_type {
            InvocationType::RequestResponse if answer.failed => {
                report_failure(&self.function, &answer, self.key.is_some())?;
            }
            InvocationType::RequestResponse => write(&answer.payload)?,
            InvocationType::Event => report_accepted(&self.function, &answer.id)?,
            InvocationType::DryRun => Stream::Story.write(&format!(
                "{} can be invoked; dry run, nothing was invoked\n",
                self.function
            ))?,
        }
        Ok(exit)
    }
}

fn called(api: &Api, call: Call<'_>) -> anyhow::Result<Answer> {
    let function = call.function;
    api.invoke(call)?.map_err(|refused| {
        let words = || anyhow!(refused.to_string());
        match refused.code.as_str() {
            "ResourceNotFoundException" => {
                names::no_function(api, function).unwrap_or_else(|_| words())
            }
            _ => words(),
        }
    })
}

/// Waits for an accepted invocation, and reports its failed attempts and its end.
fn awaited(api: &Api, function: &str, id: &str, as_json: bool) -> anyhow::Result<Exit> {
    leave_at_interrupt(id)?;
    Stream::Story.write(&format!("accepted: {function}, invocation {id}\n"))?;
    let ended = InvocationWatch::new(api, id).wait()?;
    let exit = if ended["state"] == "Succeeded" { Exit::Good } else { Exit::Problems };
    if as_json {
        display::json(&ended)?;
    } else if exit == Exit::Good {
        write(&ended["response"].to_string())?;
    } else {
        Stream::Story.write(&describe_failure(function, &ended))?;
    }
    Ok(exit)
}

/// Ctrl-C ends the command, not the invocation.
fn leave_at_interrupt(id: &str) -> anyhow::Result<()> {
    let id = id.to_owned();
    ctrlc::set_handler(move || {
        let _ = Stream::Story.overwrite(&format!(
            "no longer waiting; the invocation keeps running: `everstep invocations show {id}`\n"
        ));
        std::process::exit(i32::from(Exit::Interrupted as u8));
    })
    .context("cannot listen for Ctrl-C")
}

fn write(payload: &str) -> anyhow::Result<()> {
    let room = if Stream::Data.is_terminal() { 0 } else { usize::MAX };
    Stream::Data.write_json(&format!("{}\n", display::payload(payload.trim_end(), room)))
}

fn report_failure(function: &str, answer: &Answer, has_key: bool) -> anyhow::Result<()> {
    let failed = answer.payload_json();
    let mut text = format!("{function} failed: {}\n", failure::head(&failed));
    for line in failure::stack(&failed) {
        text += &format!("  {line}\n");
    }
    text += &failure::indented("response:", &failure::body(&failed));
    text += &failure::indented("output:", &answer.log());
    text += match has_key {
        true => {
            "hint: to run it again, use another key, or set `idempotent: result` on the function\n"
        }
        false => {
            "hint: a synchronous call is not retried; with --async, the function's retry policy applies\n"
        }
    };
    Stream::Story.write(&text)
}

fn report_accepted(function: &str, id: &str) -> anyhow::Result<()> {
    Stream::Data.write(&format!("{id}\n"))?;
    Stream::Story.write(&format!(
        "accepted: {function}; to see its state, run `everstep invocations show {id}`\n"
    ))
}
