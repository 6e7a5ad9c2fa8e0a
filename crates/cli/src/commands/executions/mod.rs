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

use crate::exit::Exit;
use crate::remote::{Api, Connection, names};

/// List, start, show, watch, stop and redrive the executions of a server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Executions {
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

impl Executions {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let (api, json) = (self.connection.open()?, self.json);
        match self.action {
            Action::List(action) => action.run(&api, json),
            Action::Start(action) => action.run(&api, json),
            Action::Show(action) => action.run(&api, json),
            Action::History(action) => action.run(&api, json),
            Action::Watch(action) => action.run(&api, json),
            Action::Stop(action) => action.run(&api, json),
            Action::Redrive(action) => action.run(&api, json),
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
