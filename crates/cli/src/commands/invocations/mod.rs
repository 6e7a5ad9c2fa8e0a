//! `everstep invocations`: the invocations of functions that a server keeps.

mod cancel;
mod list;
mod show;

use clap::{Args, Subcommand};

pub(super) use list::last_error;
pub(super) use show::Show;

use crate::exit::Exit;
use crate::remote::Connection;

/// List, show and cancel the invocations of functions of a server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Invocations {
    #[command(subcommand)]
    action: Action,
    /// Write the API's own answer
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

#[derive(Debug, Subcommand)]
enum Action {
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

impl Invocations {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let (api, json) = (self.connection.open()?, self.json);
        match self.action {
            Action::List(action) => action.run(&api, json),
            Action::Show(action) => action.run(&api, json),
            Action::Cancel(action) => action.run(&api, json),
        }
    }
}
