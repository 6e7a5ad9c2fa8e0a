//! Every command, each in a file of its own.

mod activities;
pub(crate) mod check;
mod deadletters;
mod dev;
mod executions;
mod explain;
mod functions;
mod graph;
mod group;
mod invocations;
mod invoke;
mod machines;
mod rules;
mod run;
mod serve;
mod validate;

use clap::{Parser, Subcommand};
use group::Group;

use crate::exit::Exit;

/// Checks, runs, explains and draws Amazon States Language workflows
#[derive(Debug, Parser)]
#[command(name = "everstep", version, propagate_version = true, after_help = AFTER_HELP)]
pub(crate) struct Everstep {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  everstep validate order.asl.json                 is it right?
  everstep check                                   is everstep.yaml right, and all it names?
  everstep run order.asl.json --mock mocks.json    what happens in this test case?
  everstep explain order.asl.json ChargeCustomer   what happens when this state fails?
  everstep dev                                     this folder's functions and machines, served and reloaded
  everstep serve                                   the AWS Step Functions API, on this machine
  everstep executions watch order-17               what is this execution doing?
  everstep functions list                          which functions does a server have?
  everstep invoke charge --payload @order.json     what does this function answer?
  everstep deadletters list --since 2h             which events has a function failed on?
  everstep graph order.asl.json -o order.svg       what does it look like?

Exit codes:
  0  good
  1  the definition has problems, or the execution or the function failed
  2  the command line is wrong, or a file cannot be read or written

Exit codes of `run` differ a little: `everstep run --help` lists them.
`everstep help COMMAND` tells more about each; docs/cli.md shows them at work.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Validate(validate::Validate),
    Check(check::Check),
    Run(run::Run),
    Serve(serve::Serve),
    Dev(dev::Dev),
    Machines(Group<machines::Machines>),
    Executions(Group<executions::Executions>),
    Activities(Group<activities::Activities>),
    Functions(Group<functions::Functions>),
    Invoke(invoke::Invoke),
    Invocations(Group<invocations::Invocations>),
    #[command(name = "deadletters")]
    DeadLetters(Group<deadletters::DeadLetters>),
    Explain(explain::Explain),
    Graph(graph::Graph),
    Rules(rules::Rules),
}

impl Command {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Validate(command) => command.run(),
            Self::Check(command) => command.run(),
            Self::Run(command) => command.run(),
            Self::Serve(command) => command.run(),
            Self::Dev(command) => command.run(),
            Self::Machines(command) => command.run(),
            Self::Executions(command) => command.run(),
            Self::Activities(command) => command.run(),
            Self::Functions(command) => command.run(),
            Self::Invoke(command) => command.run(),
            Self::Invocations(command) => command.run(),
            Self::DeadLetters(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Graph(command) => command.run(),
            Self::Rules(command) => command.run(),
        }
    }
}
