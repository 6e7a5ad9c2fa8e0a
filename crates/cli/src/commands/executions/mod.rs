//! `everstep executions`: the executions of a server.

mod history;
mod list;
mod redrive;
mod show;
mod start;
mod stop;
mod watch;

use clap::{Args, Subcommand};
use serde_json::Value;

use crate::commands::group::Action;
use crate::exit::Exit;
use crate::remote::{Api, names};

/// List, start, show, watch, stop and redrive the executions of a server
#[derive(Debug, Subcommand)]
#[command(after_help = AFTER_HELP)]
pub(crate) enum Executions {
    List(list::List),
    Start(start::Start),
    Show(show::Show),
    History(history::History),
    Watch(watch::Watch),
    Stop(stop::Stop),
    Redrive(redrive::Redrive),
}

const AFTER_HELP: &str = "\
Examples:
  everstep executions start order --input '{\"orderId\": 17}' --name order-17
  everstep executions start order --input @order.json --wait
  everstep executions list --machine order --status failed
  everstep executions show order-17                        and why it failed
  everstep executions watch order-17                       tells what happens as it happens
  everstep executions history order-17 --full
  everstep executions stop order-17 --cause 'ordered twice'
  everstep executions redrive order-17                     from where it failed

An execution goes by its name or its ARN; --machine tells executions of one name apart.
Requests are signed if EVERSTEP_ACCESS_KEYS=ID:SECRET is set, or AWS_ACCESS_KEY_ID and
AWS_SECRET_ACCESS_KEY are.

Exit codes:
  0    done; with `start --wait` and `watch`: it succeeded
  1    with `start --wait` and `watch`: it failed, timed out or was aborted
  2    the command line is wrong, a file cannot be read, nothing answers, or the server refuses
  130  Ctrl-C; the execution goes on";

impl Action for Executions {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        match self {
            Self::List(action) => action.run(api, as_json),
            Self::Start(action) => action.run(api, as_json),
            Self::Show(action) => action.run(api, as_json),
            Self::History(action) => action.run(api, as_json),
            Self::Watch(action) => action.run(api, as_json),
            Self::Stop(action) => action.run(api, as_json),
            Self::Redrive(action) => action.run(api, as_json),
        }
    }
}

/// Which execution.
#[derive(Debug, Args)]
struct Which {
    /// Its name or ARN
    name: String,
    /// The state machine it is of, if several have one of that name
    #[arg(long, short, value_name = "NAME")]
    machine: Option<String>,
}

impl Which {
    fn arn(&self, api: &Api) -> anyhow::Result<String> {
        names::execution(api, &self.name, self.machine.as_deref())
    }
}

fn exit(described: &Value) -> Exit {
    if described["status"] == "SUCCEEDED" { Exit::Good } else { Exit::Problems }
}
