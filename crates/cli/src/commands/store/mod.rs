//! `everstep store`: the data directory of a server that does not run.

mod accept_loss;
mod stop_execution;
mod verify;

use clap::{Args, Subcommand};

use crate::exit::Exit;

/// Check a data directory, end an execution in it, or accept a loss, without a server
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Store {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Verify(verify::Verify),
    StopExecution(stop_execution::StopExecution),
    AcceptLoss(accept_loss::AcceptLoss),
}

const AFTER_HELP: &str = "\
Examples:
  everstep store verify ~/.local/state/everstep
  everstep store stop-execution ~/.local/state/everstep ARN
  everstep store accept-loss ~/.local/state/everstep

Stop the server first: a data directory is used by one process at a time.

Exit codes:
  0  success
  1  `verify` found damage
  2  invalid arguments, the directory is in use, or it cannot be opened";

impl Store {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.action {
            Action::Verify(action) => action.run(),
            Action::StopExecution(action) => action.run(),
            Action::AcceptLoss(action) => action.run(),
        }
    }
}
