//! `everstep invocations`: the invocations of functions that a server keeps.

mod cancel;
mod list;
mod show;

use clap::Subcommand;

pub(super) use list::last_error;
pub(super) use show::Show;

use crate::commands::group::Action;
use crate::exit::Exit;
use crate::remote::Api;

/// List, show and cancel the invocations of functions of a server
#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum Invocations {
    List(list::List),
    Show(Show),
    Cancel(cancel::Cancel),
}

const AFTER_HELP: &str = "\
Examples:
  everstep invocations list --function charge --state waiting
  everstep invocations list --error RateLimitError --since 2h
  everstep invocations show ID                     every attempt, and what happens next
  everstep invocations cancel ID                   it is not tried again

All are kept that are asynchronous, come from a trigger or have a key; a call that somebody waits
for, without a key, is not. Those that failed for good are dead letters: `everstep deadletters`.

Exit codes:
  0  done
  2  the command line is wrong, nothing answers, or the server refuses";

impl Action for Invocations {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        match self {
            Self::List(action) => action.run(api, as_json),
            Self::Show(action) => action.run(api, as_json),
            Self::Cancel(action) => action.run(api, as_json),
        }
    }
}
