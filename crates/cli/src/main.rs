//! The `everstep` command: reads the command line and hands over to the command.

mod commands;
mod configuration;
mod definition;
mod exit;
mod explain;
mod functions;
mod input;
mod output;
mod remote;
mod render;
mod run;
mod serve;

use std::process::ExitCode;

use clap::Parser as _;

use crate::exit::Exit;

fn main() -> ExitCode {
    let commands::Everstep { command } = commands::Everstep::parse();
    let exit = command.run().unwrap_or_else(|error| {
        output::complain(&error);
        Exit::Unusable
    });
    exit.into()
}
