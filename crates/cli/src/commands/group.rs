//! A group of commands that call a server: the options they share, and how one of them is run.

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::remote::{Api, Connection};

#[derive(Debug, Args)]
pub(crate) struct Group<A: Action> {
    #[command(subcommand)]
    action: A,
    /// Print the server's response as JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// One of the commands of a group. The group has the name, the help and the examples.
pub(crate) trait Action: Subcommand {
    fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit>;
}

impl<A: Action> Group<A> {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        self.action.run(&self.connection.open()?, self.json)
    }
}

/// The commands of a group: each is a struct with its arguments and a method `run`.
macro_rules! group {
    ($(#[$about:meta])* $name:ident { $($command:ident($arguments:ty),)* } $after_help:expr) => {
        $(#[$about])*
        #[derive(Debug, clap::Subcommand)]
        #[command(after_help = $after_help)]
        pub(crate) enum $name {
            $($command($arguments),)*
        }

        impl crate::commands::group::Action for $name {
            fn run(
                self,
                api: &crate::remote::Api,
                as_json: bool,
            ) -> anyhow::Result<crate::exit::Exit> {
                match self {
                    $(Self::$command(action) => action.run(api, as_json),)*
                }
            }
        }
    };
}

pub(super) use group;

/// How many elements of a list are shown.
#[derive(Debug, Args)]
pub(super) struct Limit {
    /// Show at most this many
    #[arg(long, default_value_t = 50, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl Limit {
    /// One more than is shown, to know whether there are more.
    pub(super) fn fetched(&self) -> usize {
        self.shown() + 1
    }

    fn shown(&self) -> usize {
        usize::try_from(self.limit).unwrap_or(usize::MAX - 1)
    }

    /// Removes what is not shown. Returns a line that says so, if anything was removed.
    pub(super) fn apply<T>(&self, found: &mut Vec<T>) -> Option<String> {
        let max = self.shown();
        let more = found.len() > max;
        found.truncate(max);
        more.then(|| format!("only {max} shown; use --limit to show more\n"))
    }
}
