//! `everstep executions`: the executions of a server.

mod history;
mod list;
mod quarantined;
mod redrive;
mod release;
mod show;
mod start;
mod stop;
mod watch;

use clap::Args;
use serde_json::Value;

use crate::exit::Exit;
use crate::remote::{Api, names};

super::group::group! {
    /// List, start, show, watch, stop, redrive and release executions
    Executions {
        List(list::List),
        Start(start::Start),
        Show(show::Show),
        History(history::History),
        Watch(watch::Watch),
        Stop(stop::Stop),
        Redrive(redrive::Redrive),
        Quarantined(quarantined::Quarantined),
        Release(release::Release),
    }
    AFTER_HELP
}

const AFTER_HELP: &str = "\
Examples:
  everstep executions start order --input '{\"orderId\": 17}' --name order-17
  everstep executions start order --input @order.json --wait
  everstep executions list --machine order --status failed
  everstep executions show order-17       status, and why it failed
  everstep executions watch order-17      follow it until it ends
  everstep executions history order-17 --full
  everstep executions stop order-17 --cause 'ordered twice'
  everstep executions redrive order-17    continue from where it failed
  everstep executions quarantined         those that ended the server
  everstep executions release order-17    let such a one continue

Requests are signed if EVERSTEP_ACCESS_KEYS=ID:SECRET is set, or
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.

Exit codes:
  0    success; with `start --wait` and `watch`, the execution succeeded
  1    with `start --wait` and `watch`, it failed, timed out or was aborted
  2    invalid arguments, unreadable file, no connection, or the server rejected
       the request
  130  interrupted by Ctrl-C; the execution keeps running";

/// Which execution.
#[derive(Debug, Args)]
struct Which {
    /// Name or ARN of the execution
    name: String,
    /// State machine of the execution, if several have one of that name
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
