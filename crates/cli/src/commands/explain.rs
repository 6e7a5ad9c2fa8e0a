//! stub
use crate::exit::Exit;
use clap::Args;
#[derive(Debug, Args)]
pub(crate) struct Explain {}
impl Explain {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        Ok(Exit::Good)
    }
}
