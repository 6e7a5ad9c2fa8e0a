//! `everstep functions`: the functions of a server.

mod list;

use clap::Subcommand;

use crate::commands::group::Action;
use crate::exit::Exit;
use crate::remote::Api;

/// List the functions of a server, their retries and what they are doing
#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum Functions {
    List(list::List),
}

const AFTER_HELP: &str = "\
Examples:
  everstep functions list
  everstep functions list --json | jq '.functions[] | select(.waiting > 0).name'
  aws lambda list-functions --endpoint-url http://127.0.0.1:8083

A server has the functions of the everstep.yaml that it was started with, by `everstep dev` or
`everstep serve --functions PATH`. `everstep explain NAME` tells every wait between retries.

Exit codes:
  0  done
  2  the command line is wrong, nothing answers, or the server refuses";

impl Action for Functions {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        match self {
            Self::List(action) => action.run(api, as_json),
        }
    }
}
