//! `everstep invoke`: one call of a function of a server.

use anyhow::{Context as _, anyhow};
use clap::Args;

use crate::exit::Exit;
use crate::input;
use crate::output::Stream;
use crate::remote::awaiting::{self, Awaiting};
use crate::remote::lambda::{Answer, Call, Manner};
use crate::remote::{Api, Connection, failure, names, shown};

/// Call a function of a server, and write what it answers
///
/// As `aws lambda invoke` does. A call that is waited for runs once; one with --async is kept until it has
/// succeeded or no retry is left.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Invoke {
    /// Its name or ARN
    function: String,
    /// The event: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, default_value = "{}", value_name = "JSON", allow_hyphen_values = true)]
    payload: String,
    /// Do not wait: write the id of the invocation, which is retried as the function's policy says
    #[arg(long = "async", conflicts_with = "dry_run")]
    asynchronous: bool,
    /// With --async: wait for the end of it, retries included, and tell of each attempt that fails
    #[arg(long, requires = "asynchronous")]
    wait: bool,
    /// Only say whether it could be called
    #[arg(long)]
    dry_run: bool,
    /// Of all calls with the same key one runs, and the others get its answer
    #[arg(long)]
    key: Option<String>,
    /// Write the answer with its status, as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

const AFTER_HELP: &str = "\
Examples:
  everstep invoke charge --payload '{\"orderId\": 17}'
  everstep invoke charge --payload @order.json | jq .receipt
  everstep invoke charge --payload @order.json --async     its id; `everstep invocations show ID`
  everstep invoke charge --payload @order.json --async --wait
                                                           its answer, retries and all
  everstep invoke charge --key order-17                    once, however often it is called
  everstep invoke charge --dry-run                         is it there?

Requests are signed if EVERSTEP_ACCESS_KEYS=ID:SECRET is set, or AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY are.

Exit codes:
  0    it succeeded; with --async: it is accepted; with --dry-run: it could be called
  1    the function failed: its error, message and stack are on standard error
  2    the command line is wrong, a file cannot be read, nothing answers, or the server refuses
  130  Ctrl-C; what was accepted with --async goes on";

impl Invoke {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let payload = input::text("--payload", &self.payload)?;
        let manner = match (self.asynchronous, self.dry_run) {
            (true, _) => Manner::Event,
            (_, true) => Manner::DryRun,
            _ => Manner::RequestResponse,
        };
        let api = self.connection.open()?;
        let call = Call { function: &self.function, manner, payload, key: self.key.as_deref() };
        let answer = called(&api, call)?;
        if self.wait {
            return awaited(&api, &self.function, &answer.id, self.json);
        }
        let exit = if answer.failed { Exit::Problems } else { Exit::Good };
        if self.json {
            shown::json(&answer.to_json())?;
            return Ok(exit);
        }
        match manner {
            Manner::RequestResponse if answer.failed => {
                tell_failure(&self.function, &answer, self.key.is_some())?;
            }
            Manner::RequestResponse => write(&answer.payload)?,
            Manner::Event => tell_accepted(&self.function, &answer.id)?,
            Manner::DryRun => Stream::Story
                .write(&format!("{} could be called; nothing has run\n", self.function))?,
        }
        Ok(exit)
    }
}

fn called(api: &Api, call: Call<'_>) -> anyhow::Result<Answer> {
    let function = call.function;
    api.invoke(call)?.map_err(|refused| {
        let words = || anyhow!(refused.in_words());
        match refused.code.as_str() {
            "ResourceNotFoundException" => {
                names::no_function(api, function).unwrap_or_else(|_| words())
            }
            _ => words(),
        }
    })
}

/// How an invocation ends that was accepted, and what is told of it meanwhile.
fn awaited(api: &Api, function: &str, id: &str, as_json: bool) -> anyhow::Result<Exit> {
    leave_at_interrupt(id)?;
    Stream::Story.write(&format!("{function} is accepted as {id}\n"))?;
    let ended = Awaiting::new(api, id).until_it_ends()?;
    let exit = if ended["state"] == "Succeeded" { Exit::Good } else { Exit::Problems };
    if as_json {
        shown::json(&ended)?;
    } else if exit == Exit::Good {
        write(&ended["response"].to_string())?;
    } else {
        Stream::Story.write(&awaiting::failure_told(function, &ended))?;
    }
    Ok(exit)
}

/// What was accepted goes on when nobody waits for it.
fn leave_at_interrupt(id: &str) -> anyhow::Result<()> {
    let id = id.to_owned();
    ctrlc::set_handler(move || {
        let line = if Stream::Story.is_live() { "\r\x1b[2K" } else { "" };
        let _ = Stream::Story.write(&format!(
            "{line}no longer waiting: it goes on; `everstep invocations show {id}` tells what becomes of it\n"
        ));
        std::process::exit(i32::from(Exit::Interrupted as u8));
    })
    .context("cannot listen for Ctrl-C")
}

fn write(payload: &str) -> anyhow::Result<()> {
    let room = if Stream::Data.is_terminal() { 0 } else { usize::MAX };
    Stream::Data.write(&format!("{}\n", shown::payload(payload.trim_end(), room)))
}

fn tell_failure(function: &str, answer: &Answer, has_key: bool) -> anyhow::Result<()> {
    let failed = answer.payload_json();
    let mut text = format!("{function} failed: {}\n", failure::head(&failed));
    for line in failure::stack(&failed) {
        text += &format!("  {line}\n");
    }
    text += &failure::indented("it answered:", &failure::body(&failed));
    text += &failure::indented("it wrote:", &answer.log());
    text += match has_key {
        true => {
            "hint: with `idempotent: result` the next call with this key runs it again; else that needs another key\n"
        }
        false => {
            "hint: a call that is waited for runs once; with --async it is retried as the function's policy says\n"
        }
    };
    Stream::Story.write(&text)
}

fn tell_accepted(function: &str, id: &str) -> anyhow::Result<()> {
    Stream::Data.write(&format!("{id}\n"))?;
    Stream::Story.write(&format!(
        "the event for {function} is accepted; `everstep invocations show {id}` tells what becomes of it\n"
    ))
}
