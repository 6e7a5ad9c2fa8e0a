//! `everstep store accept-loss`

use std::path::PathBuf;

use clap::Args;
use everstep_server::offline;

use crate::exit::Exit;
use crate::output::Stream;

/// Continue without acknowledged work that the store has lost
///
/// A server refuses to start on a store that ends before work it has acknowledged, or whose journal is damaged: a file was
/// damaged, cut off or restored from an older copy. Restore a whole copy if you have one. If not, this keeps what can be
/// read and gives up the rest.
#[derive(Debug, Args)]
pub(crate) struct AcceptLoss {
    /// Data directory
    #[arg(value_name = "DIR")]
    data: PathBuf,
}

impl AcceptLoss {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let Some(lost) = offline::find_loss(&self.data)? else {
            Stream::Story.write("nothing is lost: a server can use it as it is\n")?;
            return Ok(Exit::Good);
        };
        Stream::Story.write(&format!("lost: {lost}\n"))?;
        offline::accept_loss(&self.data)?;
        let directory = self.data.display();
        Stream::Story.write(&format!(
            "accepted: all that can be read is kept. Starts, results and changes that are missing are forgotten, although they \
             were acknowledged: executions continue from where the store has them, and tasks may run again\nhint: to see what is left, run `everstep store verify {directory}`\n"
        ))?;
        Ok(Exit::Good)
    }
}
