//! `everstep deadletters purge`

use clap::Args;
use serde_json::Value;

use super::which::{self, Which};
use crate::exit::Exit;
use crate::output::{Stream, count};
use crate::remote::{Api, names, shown};

/// Throw dead letters away, with their events and attempts
///
/// Those whose destinations have not been told yet are left.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Purge {
    #[command(flatten)]
    which: Which,
}

const AFTER_HELP: &str = "\
Examples:
  everstep deadletters purge ID ID
  everstep deadletters purge --error ValidationError --dry-run     which would it be?
  everstep deadletters purge --error ValidationError --function charge
  everstep deadletters purge --yes                                 all of them";

impl Purge {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        self.which.check(api, "purge")?;
        let input = self.which.to_json();
        if self.which.dry_run {
            return which::rehearse(&which::list(api, input, names::ALL)?, "purged", as_json);
        }
        let answer = api.operate("PurgeDeadLetters", &input)?;
        let purged = answer["purged"].as_array().into_iter().flatten();
        let purged: Vec<String> = purged.filter_map(Value::as_str).map(str::to_owned).collect();
        let missing = self.which.missing(api, &purged, "purge");
        if as_json {
            shown::json(&answer)?;
        } else if missing.is_none() || !purged.is_empty() {
            Stream::Story.write(&match purged.len() {
                0 => "there are no such dead letters\n".to_owned(),
                number => format!("purged {}\n", count(number, "dead letter")),
            })?;
        }
        missing.map_or(Ok(Exit::Good), Err)
    }
}
