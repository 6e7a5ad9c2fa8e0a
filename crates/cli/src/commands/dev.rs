//! `everstep dev`: the arguments of a server for development.

use std::path::PathBuf;

use clap::Args;
use everstep_server::{Given, Mode};

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

    /// Data directory [default: .everstep beside everstep.yaml]
    #[arg(long, env = "EVERSTEP_DATA", value_name = "DIR")]
    data: Option<PathBuf>,

    /// Dialect of definitions: `spec` or `aws` [default: spec]
    #[arg(long, env = "EVERSTEP_DIALECT", value_name = "DIALECT")]
    dialect: Option<String>,

    /// Scale Wait states and the delays of retries by this factor, such as 0.01
    #[arg(long, env = "WAIT_TIME_SCALE", value_name = "FACTOR", allow_negative_numbers = true)]
    wait_time_scale: Option<f64>,

    /// Endpoint that invokes Lambda functions which are not configured here
    #[arg(long, env = "LAMBDA_ENDPOINT", value_name = "URL")]
    lambda_endpoint: Option<String>,
}

const AFTER_HELP: &str = "\
Examples:
  everstep dev                       everstep.yaml in this folder
  everstep dev examples/order
  everstep executions start order --input '{\"orderId\": \"o-1\"}' --wait

It listens on loopback, for anyone on this machine. What executions and functions do is logged to standard
error. Changes to everstep.yaml, definitions and code take effect at once. If a change is invalid, the errors
are shown and the previous version keeps running. Running executions keep the definition they started with.
Ctrl-C waits up to ten seconds for running calls; a second Ctrl-C stops at once. The next start continues
where this one stopped.";

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
        frontend::serve(given, None, Mode::Dev)
    }
}
