//! `everstep activities`: the activities of a server.

mod create;
mod delete;
mod list;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::remote::Connection;

/// List, create and delete the activities of a server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Activities {
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
    Create(create::Create),
    Delete(delete::Delete),
}

const AFTER_HELP: &str = "\
Examples:
  everstep activities create approve
  everstep activities list
  everstep activities delete approve

An activity is a queue that workers ask for tasks, wherever they run: GetActivityTask gives one,
SendTaskSuccess and SendTaskFailure end it. It goes by its name or its ARN.

Exit codes:
  0  done
  2  the command line is wrong, nothing answers, or the server refuses";

impl Activities {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let (api, json) = (self.connection.open()?, self.json);
        match self.action {
            Action::List(action) => action.run(&api, json),
            Action::Create(action) => action.run(&api, json),
            Action::Delete(action) => action.run(&api, json),
        }
    }
}
