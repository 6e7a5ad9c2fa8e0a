//! `everstep deadletters`: the invocations of a server that failed for good.

mod list;
mod purge;
mod redrive;
mod which;

use clap::Subcommand;

use super::invocations::Show;
use crate::commands::group::Action;
use crate::exit::Exit;
use crate::remote::Api;

/// List, show, redrive and purge the invocations that failed for good
#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum DeadLetters {
    List(list::List),
    Show(Show),
    Redrive(redrive::Redrive),
    Purge(purge::Purge),
}

const AFTER_HELP: &str = "\
Examples:
  everstep deadletters list --since 2h
  everstep deadletters show ID                             every attempt, with error and stack
  everstep deadletters redrive ID
  everstep deadletters redrive --error RateLimitError --since 2h --dry-run
  everstep deadletters redrive --error RateLimitError --since 2h --spacing 1s
  everstep deadletters redrive ID --payload @mended.json --latest
  everstep deadletters purge --function charge --error ValidationError

A dead letter is kept with its event and every attempt. Redriven, it becomes a new invocation with
all its retries, once, even if the server is killed meanwhile; its record stays and says so.

Exit codes:
  0  done
  2  the command line is wrong, a file cannot be read, nothing answers, or the server refuses";

impl Action for DeadLetters {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        match self {
            Self::List(action) => action.run(api, as_json),
            Self::Show(action) => action.run(api, as_json),
            Self::Redrive(action) => action.run(api, as_json),
            Self::Purge(action) => action.run(api, as_json),
        }
    }
}
