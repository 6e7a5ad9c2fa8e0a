//! `everstep dev`: the arguments of a server for development.

use std::path::PathBuf;

use clap::Args;
use everstep_server::{Given, Mode};

use super::serve::Common;
use crate::exit::Exit;
use crate::frontend;

/// Serve the functions and state machines of a folder, and reload them when they change
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Dev {
    /// The folder with everstep.yaml or a SAM template.yaml, or the file itself
    #[arg(default_value = ".", value_name = "DIR")]
    path: PathBuf,

    #[command(flatten)]
    common: Common,

    /// Data directory [default: .everstep beside the file]
    #[arg(long, env = "EVERSTEP_DATA", value_name = "DIR")]
    data: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  everstep dev                       everstep.yaml in this folder
  everstep dev examples/order
  everstep executions start order --input '{\"orderId\": \"o-1\"}' --wait

It listens on loopback, for anyone on this machine. What executions and
functions do is logged to standard error. Changes to everstep.yaml, definitions
and code take effect at once. If a change is invalid, the errors are shown and
the previous version keeps running. Running executions keep the definition they
started with.

Ctrl-C waits up to ten seconds for running calls; a second Ctrl-C stops at once.
The next start continues where this one stopped.";

impl Dev {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let entry = crate::configuration::locate(&self.path)?;
        let folder = entry.parent().map(PathBuf::from).unwrap_or_default();
        let parameters = self.common.parameters.clone();
        let given = Given {
            data: self.data.or_else(|| Some(folder.join(".everstep"))),
            functions: Some(entry),
            ..self.common.given()
        };
        frontend::serve(given, None, Mode::Dev, parameters)
    }
}
