//! `everstep deadletters`: the invocations of a server that failed for good.

mod list;
mod purge;
mod redrive;
mod which;

use clap::{Args, Subcommand};

use super::invocations::Show;
use crate::exit::Exit;
use crate::remote::Connection;

/// List, show, redrive and purge the invocations that failed for good
#[derive(Debug, Args)]
#[command(name = "deadletters", after_help = AFTER_HELP)]
pub(crate) struct DeadLetters {
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

impl DeadLetters {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let (api, json) = (self.connection.open()?, self.json);
        match self.action {
            Action::List(action) => action.run(&api, json),
            Action::Show(action) => action.run(&api, json),
            Action::Redrive(action) => action.run(&api, json),
            Action::Purge(action) => action.run(&api, json),
        }
    }
}
