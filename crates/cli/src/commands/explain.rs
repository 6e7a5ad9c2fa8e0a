//! `everstep explain`: what a definition does, in words, without running it.

use anyhow::bail;
use clap::Args;
use everstep_asl::{Machine, Source};
use serde::Serialize;

use crate::definition;
use crate::exit::Exit;
use crate::explain::{Found, MachineFacts, StateFacts, each, text};
use crate::output::Stream;

/// Tell in words what a definition does: which errors lead where, after how many tries, how long
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Explain {
    /// A definition in JSON or YAML; `-` reads standard input
    file: String,
    /// A state by name, wherever it is nested; without it, the whole machine
    state: Option<String>,
    /// Write the facts as JSON
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  everstep explain order.asl.json                  the machine, in the order in which it runs
  everstep explain order.asl.json ChargeCustomer   every error of a state: retries, catcher, outcome
  everstep explain order.asl.json ChargeCustomer --json

Exit codes:
  0  explained
  1  the definition has errors, told on standard error
  2  the command line is wrong, the file cannot be read, or there is no such state";

impl Explain {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let (source, machine) = match definition::load(&self.file)? {
            Ok(loaded) => loaded,
            Err(exit) => return Ok(exit),
        };
        let text = match &self.state {
            Some(name) => self.state(&source, &machine, name)?,
            None => self.machine(&source, &machine)?,
        };
        Stream::Data.write(&text)?;
        Ok(Exit::Good)
    }

    fn machine(&self, source: &Source, machine: &Machine) -> anyhow::Result<String> {
        let facts = MachineFacts::new(source, machine);
        if self.json {
            return json(&facts);
        }
        Ok(text::machine(machine, &facts, source.name(), Stream::Data.width()))
    }

    fn state(&self, source: &Source, machine: &Machine, name: &str) -> anyhow::Result<String> {
        let facts = StateFacts::new(source, &find(machine, name, source.name())?);
        if self.json {
            return json(&facts);
        }
        Ok(text::state(&facts, source.name(), Stream::Data.width()))
    }
}

fn find<'m>(machine: &'m Machine, name: &str, file: &str) -> anyhow::Result<Found<'m>> {
    let states = each(machine);
    if let Some(found) = states.iter().find(|found| &*found.state.name == name) {
        return Ok(found.clone());
    }
    match super::nearest(name, states.iter().map(|found| &*found.state.name)) {
        Some(near) => bail!("there is no state `{name}` in {file}; did you mean `{near}`?"),
        None => bail!("there is no state `{name}` in {file}; `everstep explain {file}` lists them"),
    }
}

fn json(facts: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(facts)? + "\n")
}
