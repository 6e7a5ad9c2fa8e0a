//! `everstep machines`: the state machines of a server.

mod create;
mod delete;
mod list;
mod show;
mod update;

use clap::Subcommand;

use crate::commands::group::Action;
use crate::exit::Exit;
use crate::remote::Api;

/// List, show, create, update and delete the state machines of a server
#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum Machines {
    List(list::List),
    Show(show::Show),
    Create(create::Create),
    Update(update::Update),
    Delete(delete::Delete),
}

const AFTER_HELP: &str = "\
Examples:
  everstep machines list
  everstep machines create order.asl.json                  its name is `order`
  everstep machines update order order.asl.json
  everstep machines show order
  everstep machines show order --definition | everstep explain -
  everstep machines delete order

A machine goes by its name or its ARN. Requests are signed if EVERSTEP_ACCESS_KEYS=ID:SECRET is
set, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are.

Exit codes:
  0  done
  1  the definition has problems, told on standard error
  2  the command line is wrong, a file cannot be read, nothing answers, or the server refuses";

impl Action for Machines {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        match self {
            Self::List(action) => action.run(api, as_json),
            Self::Show(action) => action.run(api, as_json),
            Self::Create(action) => action.run(api, as_json),
            Self::Update(action) => action.run(api, as_json),
            Self::Delete(action) => action.run(api, as_json),
        }
    }
}
