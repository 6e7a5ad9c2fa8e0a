//! A group of commands that speak to a server: what each of them can be told, whatever it does.

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::remote::{Api, Connection};

#[derive(Debug, Args)]
pub(crate) struct Group<A: Action> {
    #[command(subcommand)]
    action: A,
    /// Write the API's own answer
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// One of the commands of a group; its name, help and examples are those of the group.
pub(crate) trait Action: Subcommand {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit>;
}

impl<A: Action> Group<A> {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        self.action.run(&self.connection.open()?, self.json)
    }
}
