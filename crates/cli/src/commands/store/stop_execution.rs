//! `everstep store stop-execution`

use std::path::PathBuf;

use clap::Args;
use everstep_interpreter::Failure;
use everstep_server::offline::{self, Stopped};

use crate::exit::Exit;
use crate::output::Stream;

/// End an execution as ABORTED, without continuing any other
///
/// For an execution that keeps a server from running. Destinations are notified, and its tasks are cancelled, when a server
/// runs again.
#[derive(Debug, Args)]
pub(crate) struct StopExecution {
    /// Data directory
    #[arg(value_name = "DIR")]
    data: PathBuf,
    /// ARN of the execution
    arn: String,
    /// Error to record
    #[arg(long)]
    error: Option<String>,
    /// Cause to record
    #[arg(long)]
    cause: Option<String>,
}

impl StopExecution {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let text = |text: Option<String>| text.map(Into::into);
        let failure = Failure { error: text(self.error), cause: text(self.cause) };
        let line = match offline::stop_execution(&self.data, &self.arn, failure)? {
            Stopped::Now => format!("stopped {}\n", self.arn),
            Stopped::Before => format!("{} has ended already\n", self.arn),
        };
        Stream::Story.write(&line)?;
        Ok(Exit::Good)
    }
}
