//! `everstep activities`: the activities of a server.

mod create;
mod delete;
mod list;

use clap::Subcommand;

use crate::commands::group::Action;
use crate::exit::Exit;
use crate::remote::Api;

/// List, create and delete the activities of a server
#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum Activities {
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

impl Action for Activities {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        match self {
            Self::List(action) => action.run(api, as_json),
            Self::Create(action) => action.run(api, as_json),
            Self::Delete(action) => action.run(api, as_json),
        }
    }
}
