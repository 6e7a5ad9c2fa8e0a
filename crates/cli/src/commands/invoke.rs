//! `everstep invoke`: one call of a function of a server.

use anyhow::anyhow;
use clap::Args;

use crate::exit::Exit;
use crate::input;
use crate::output::Stream;
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
  everstep invoke charge --key order-17                    once, however often it is called
  everstep invoke charge --dry-run                         is it there?

Requests are signed if EVERSTEP_ACCESS_KEYS=ID:SECRET is set, or AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY are.

Exit codes:
  0  it succeeded; with --async: it is accepted; with --dry-run: it could be called
  1  the function failed: its error, message and stack are on standard error
  2  the command line is wrong, a file cannot be read, nothing answers, or the server refuses";

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
        let exit = if answer.failed { Exit::Problems } else { Exit::Good };
        if self.json {
            shown::json(&answer.to_json())?;
            return Ok(exit);
        }
        match manner {
            Manner::RequestResponse if answer.failed => {
                tell_failure(&self.function, &answer, self.key.is_some())?;
            }
            Manner::RequestResponse => write(&answer)?,
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

fn write(answer: &Answer) -> anyhow::Result<()> {
    let room = if Stream::Data.is_terminal() { 0 } else { usize::MAX };
    Stream::Data.write(&format!("{}\n", shown::payload(answer.payload.trim_end(), room)))
}

fn tell_failure(function: &str, answer: &Answer, has_key: bool) -> anyhow::Result<()> {
    let failed = answer.payload_json();
    let mut text = format!("{function} failed: {}\n", failure::head(&failed));
    for line in failure::stack(&failed) {
        text += &format!("  {line}\n");
    }
    text += match has_key {
        true => "hint: this is the answer to every call with this key; another key runs it again\n",
        false => {
            "hint: a call that is waited for runs once; with --async it is retried as the function's policy says\n"
        }
    };
    Stream::Story.write(&text)
}

fn tell_accepted(function: &str, id: &str) -> anyhow::Result<()> {
    Stream::Data.write(&format!("{id}\n"))?;
    Stream::Story.write(&format!(
        "{function} will be run; `everstep invocations show {id}` tells what becomes of it\n"
    ))
}
