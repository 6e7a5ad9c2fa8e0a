//! `everstep dev`: a folder's functions and machines, served, told about, and reloaded when they change.

use std::path::PathBuf;

use clap::Args;
use everstep_server::{Given, Manner};

use crate::exit::Exit;
use crate::frontend;

/// Serve the functions and state machines of a folder, and reload them when they change
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Dev {
    /// The folder with everstep.yaml, or the file itself
    #[arg(default_value = ".", value_name = "DIR")]
    path: PathBuf,

    /// Address and port to listen on [default: 127.0.0.1:8083]
    #[arg(long, env = "EVERSTEP_LISTEN", value_name = "ADDRESS")]
    listen: Option<String>,

    /// Directory of the data [default: .everstep beside everstep.yaml]
    #[arg(long, env = "EVERSTEP_DATA", value_name = "DIR")]
    data: Option<PathBuf>,

    /// How definitions are run: `spec` or `aws` [default: spec]
    #[arg(long, env = "EVERSTEP_DIALECT", value_name = "DIALECT")]
    dialect: Option<String>,

    /// Let Wait states and retries, of tasks and of functions, take this much of their time, such as 0.01
    #[arg(long, env = "WAIT_TIME_SCALE", value_name = "FACTOR", allow_negative_numbers = true)]
    wait_time_scale: Option<f64>,

    /// Where Lambda functions are invoked that are not configured here
    #[arg(long, env = "LAMBDA_ENDPOINT", value_name = "URL")]
    lambda_endpoint: Option<String>,
}

const AFTER_HELP: &str = "\
Examples:
  everstep dev                       everstep.yaml in this folder
  everstep dev examples/order
  everstep executions start order --input '{\"orderId\": \"o-1\"}' --wait

It listens on loopback for anybody on this machine. What executions and functions do is told on standard
error as it happens. A change of everstep.yaml, of a definition or of code takes effect at once; a change
that is wrong is told, and what was there before goes on. Executions that run keep the definition they were
started with. Ctrl-C lets calls that run come to their end, a second one ends them; the next start goes on
from there.";

impl Dev {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let entry = crate::configuration::locate(&self.path)?;
        let folder = entry.parent().map(PathBuf::from).unwrap_or_default();
        let given = Given {
            listen: self.listen,
            data: self.data.or_else(|| Some(folder.join(".everstep"))),
            dialect: self.dialect,
            functions: Some(entry),
            wait_time_scale: self.wait_time_scale,
            lambda_endpoint: self.lambda_endpoint,
            ..Given::default()
        };
        frontend::serve(given, None, Manner::Told)
    }
}
