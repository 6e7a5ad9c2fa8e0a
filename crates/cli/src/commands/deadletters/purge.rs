//! `everstep deadletters purge`

use clap::Args;
use serde_json::Value;

use super::which::{self, Which};
use crate::exit::Exit;
use crate::output::{Stream, count};
use crate::remote::{Api, display, names};

/// Delete dead letters with their events and attempts
///
/// Dead letters whose destinations have not been notified yet are kept, unless --undelivered is given.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Purge {
    #[command(flatten)]
    which: Which,
    /// Also delete dead letters that have not reached their destinations; they never will
    #[arg(long, alias = "untold")]
    undelivered: bool,
}

const AFTER_HELP: &str = "\
Examples:
  everstep deadletters purge ID ID
  everstep deadletters purge --error ValidationError --dry-run
  everstep deadletters purge --error ValidationError --function charge
  everstep deadletters purge --all";

impl Purge {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        self.which.check(api, "purge")?;
        let mut input = self.which.to_json();
        input["untold"] = self.undelivered.into();
        if self.which.dry_run {
            return which::rehearse(&which::list(api, input, names::ALL)?, "purged", as_json);
        }
        let answer = api.operate("PurgeDeadLetters", &input)?;
        let purged = answer["purged"].as_array().into_iter().flatten();
        let purged: Vec<String> = purged.filter_map(Value::as_str).map(str::to_owned).collect();
        let missing = self.which.missing(api, &purged, "purge");
        if as_json {
            display::json(&answer)?;
        } else if missing.is_none() || !purged.is_empty() {
            Stream::Story.write(&match purged.len() {
                0 => "no dead letters found\n".to_owned(),
                number => format!("purged {}\n", count(number, "dead letter")),
            })?;
        }
        missing.map_or(Ok(Exit::Good), Err)
    }
}
