//! `everstep deadletters redrive`

use clap::Args;
use serde_json::{Value, json};

use super::which::{self, Which};
use crate::exit::Exit;
use crate::input;
use crate::output::{Stream, count};
use crate::remote::{Api, names, selection, shown};

/// Run dead letters again, each as a new invocation with all its retries
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
    /// With the function's policy, version and destinations as they are now, not as they were
    #[arg(long)]
    latest: bool,
    /// With this event in place of their own: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, value_name = "JSON", allow_hyphen_values = true)]
    payload: Option<String>,
    /// So long after each other: 1s is one a second, for a function that could not take them all at once
    #[arg(long, value_name = "DURATION", value_parser = selection::duration)]
    spacing: Option<u64>,
    /// At most so many, the latest first [default: all]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
}

const AFTER_HELP: &str = "\
Examples:
  everstep deadletters redrive ID
  everstep deadletters redrive --error RateLimitError --since 2h --dry-run     which would it be?
  everstep deadletters redrive --error RateLimitError --since 2h --spacing 200ms
  everstep deadletters redrive --function charge --limit 1                     does it work again?
  everstep deadletters redrive ID --payload @mended.json --latest
  everstep deadletters redrive --yes                                           all of them

Each is run again once, even if the server is killed meanwhile and the command is given again.";

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
        let done: Vec<String> = pairs.iter().map(|pair| shown::text(pair, "id")).collect();
        let missing =
            if self.limit.is_none() { self.which.missing(api, &done, "redrive") } else { None };
        if as_json {
            shown::json(&answer)?;
        } else if missing.is_none() || !done.is_empty() {
            tell(pairs)?;
        }
        missing.map_or(Ok(Exit::Good), Err)
    }
}

fn tell(pairs: &[Value]) -> anyhow::Result<()> {
    let row = |pair: &Value| vec![shown::text(pair, "id"), shown::text(pair, "into")];
    let rows: Vec<_> = pairs.iter().map(row).collect();
    let number = rows.len();
    shown::table(&["Dead letter", "Goes on as"], rows, "there are no such dead letters")?;
    if number == 0 {
        return Ok(());
    }
    Stream::Story.write(&format!(
        "redrove {}; `everstep invocations show ID` tells what becomes of each\n",
        count(number, "dead letter")
    ))
}
