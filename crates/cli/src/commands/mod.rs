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
mod store;
mod triggers;
mod validate;

use clap::{Parser, Subcommand};
use group::Group;

use crate::exit::Exit;

/// Run AWS Step Functions workflows and Lambda functions on your own machine, durably
#[derive(Debug, Parser)]
#[command(name = "everstep", version, propagate_version = true, after_help = AFTER_HELP)]
pub(crate) struct Everstep {
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "\
Examples:
  everstep dev                                     serve this folder
  everstep serve                                   serve the Step Functions API
  everstep validate order.asl.json
  everstep run order.asl.json --mock mocks.json
  everstep explain order.asl.json ChargeCustomer   what if this state fails?
  everstep graph order.asl.json -o order.svg
  everstep executions watch order-17
  everstep invoke charge --payload @order.json
  everstep deadletters list --since 2h
  everstep triggers fire nightly

Exit codes:
  0  success
  1  a definition has errors, or an execution or a function failed
  2  invalid arguments, or a file cannot be read or written

For more about a command, run `everstep help COMMAND`.";

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
    Triggers(Group<triggers::Triggers>),
    #[command(name = "deadletters")]
    DeadLetters(Group<deadletters::DeadLetters>),
    Store(store::Store),
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
            Self::Triggers(command) => command.run(),
            Self::DeadLetters(command) => command.run(),
            Self::Store(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Graph(command) => command.run(),
            Self::Rules(command) => command.run(),
        }
    }
}
