//! The `everstep` command: parses the command line and runs the command.

mod commands;
mod configuration;
mod definition;
mod dialect;
mod exit;
mod frontend;
mod input;
mod mock_file;
mod output;
mod remote;
mod render;
mod reporter;
mod template_parameters;

use std::process::ExitCode;

use clap::Parser as _;

use crate::exit::Exit;

fn main() -> ExitCode {
    // This process is about to become a function: not a command for users.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == everstep_server::SHIM) {
        return everstep_runners::shim::main(arguments);
    }
    let commands::Everstep { command } = commands::Everstep::parse();
    let exit = command.run().unwrap_or_else(|error| {
        output::report_error(&error);
        Exit::Unusable
    });
    exit.into()
}
