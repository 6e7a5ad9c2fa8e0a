//! `everstep deadletters redrive`

use clap::Args;
use serde_json::{Value, json};

use super::which::{self, Which};
use crate::exit::Exit;
use crate::input;
use crate::output::{Stream, count};
use crate::remote::{Api, display, names, selection};

/// Run dead letters again, each as a new invocation with all its retries
///
/// Each one is redriven exactly once, even if the server is killed and the command is repeated.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
    /// Use the current version, policy and destinations of the function
    #[arg(long)]
    latest: bool,
    /// Replace the event: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, value_name = "JSON", allow_hyphen_values = true)]
    payload: Option<String>,
    /// Delay between invocations, such as 1s
    #[arg(long, value_name = "DURATION", value_parser = selection::duration)]
    spacing: Option<u64>,
    /// Redrive at most this many, newest first [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

const AFTER_HELP: &str = "\
Examples:
  everstep deadletters redrive ID
  everstep deadletters redrive --error RateLimitError --since 2h --dry-run
  everstep deadletters redrive --error RateLimitError --since 2h --spacing 200ms
  everstep deadletters redrive --function charge --limit 1
  everstep deadletters redrive ID --payload @fixed.json --latest
  everstep deadletters redrive --all";

impl Redrive {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        if self.limit.is_none() {
            self.which.check(api, "redrive")?;
        }
        let mut input = self.which.to_json();
        if self.which.dry_run {
            let max = self.limit.map(usize::try_from).transpose()?.unwrap_or(names::ALL);
            return which::rehearse(&which::list(api, input, max)?, "redriven", as_json);
        }
        input["latest"] = json!(self.latest);
        input["spacingMs"] = json!(self.spacing);
        input["limit"] = json!(self.limit);
        if let Some(payload) = &self.payload {
            input["payload"] = input::read("--payload", payload)?;
        }
        let answer = api.operate("RedriveDeadLetters", &input)?;
        let pairs = answer["redriven"].as_array().map(Vec::as_slice).unwrap_or_default();
        let done: Vec<String> = pairs.iter().map(|pair| display::text(pair, "id")).collect();
        let missing =
            if self.limit.is_none() { self.which.missing(api, &done, "redrive") } else { None };
        if as_json {
            display::json(&answer)?;
        } else if missing.is_none() || !done.is_empty() {
            report(pairs)?;
        }
        missing.map_or(Ok(Exit::Good), Err)
    }
}

fn report(pairs: &[Value]) -> anyhow::Result<()> {
    let row = |pair: &Value| vec![display::text(pair, "id"), display::text(pair, "into")];
    let rows: Vec<_> = pairs.iter().map(row).collect();
    let number = rows.len();
    display::table(&["Dead letter", "Redriven as"], rows, "no dead letters found")?;
    if number == 0 {
        return Ok(());
    }
    Stream::Story.write(&format!(
        "redrove {}; to see the state of one, run `everstep invocations show ID`\n",
        count(number, "dead letter")
    ))
}
