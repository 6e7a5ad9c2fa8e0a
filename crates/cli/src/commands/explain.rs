//! `everstep explain`: what a definition, a function's policy or a trigger does, in words, without running it.

use everstep_config::Parameters;
use everstep_source::{nearest, terminal};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use everstep_asl::{Machine, Source};
use everstep_config::Config;
use everstep_config::model::{Function, Trigger};
use everstep_expr::timestamp;
use serde::Serialize;

use crate::dialect::DialectName;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::display::now_ms;
use crate::render::{self, Checked};
use crate::{configuration, definition};
use everstep_analysis::explain::{
    Found, FunctionFacts, MachineFacts, StateFacts, TriggerFacts, each, text,
};

/// Explain what a definition, a function or a trigger does: errors, retries, timing
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Explain {
    /// Definition, JSON or YAML (`-` for standard input), or a function or trigger of everstep.yaml
    #[arg(value_name = "FILE|FUNCTION|TRIGGER")]
    subject: String,
    /// State to explain, at any depth [default: the whole machine]
    #[arg(conflicts_with = "config")]
    state: Option<String>,
    /// Configuration of the function or trigger, or its folder [default: everstep.yaml in this folder]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Show when a timer is due after this timestamp [default: now]
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "state")]
    after: Option<i64>,
    /// Which rules apply where the specification and AWS differ
    #[arg(long, value_enum, default_value_t)]
    dialect: DialectName,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

const AFTER_HELP: &str = "\
Examples:
  everstep explain order.asl.json                  states in execution order
  everstep explain order.asl.json ChargeCustomer   every error of one state
  everstep explain order.asl.json ChargeCustomer --json
  everstep explain charge-customer                 retry policy of a function
  everstep explain charge-customer --config staging.yaml
  everstep explain nightly                         next ten runs of a timer
  everstep explain nightly --after 2026-03-28T12:00:00Z

Exit codes:
  0  success
  1  the definition or the configuration has errors
  2  invalid arguments, unreadable file, or unknown state, function or trigger";

impl Explain {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if let Some(configuration) = self.configuration()? {
            return self.configured(&configuration);
        }
        let (source, machine) = match definition::load(&self.subject, self.dialect.into())? {
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

    /// The configuration that has the function or trigger: the one that is given, or that of this folder if the subject
    /// is one of it or no file.
    fn configuration(&self) -> anyhow::Result<Option<PathBuf>> {
        if let Some(path) = &self.config {
            return configuration::locate(path).map(Some);
        }
        if self.subject == "-" || self.state.is_some() {
            return Ok(None);
        }
        let here = configuration::in_folder(Path::new("."));
        if !Path::new(&self.subject).exists() {
            return Ok(here);
        }
        // The folder of the code often has the name of the function.
        Ok(here.filter(|here| is_configured(here, &self.subject)))
    }

    /// A function, or a trigger if there is no function of that name.
    fn configured(&self, path: &Path) -> anyhow::Result<Exit> {
        let parsed = configuration::read(path, &Parameters::default())?;
        let Some(config) = parsed.config() else { return refuse(parsed) };
        let name = &self.subject;
        let text = match (config.function(name), config.trigger(name)) {
            (Some(function), None) => self.function(function)?,
            (None, Some(trigger)) => self.trigger(config, trigger)?,
            // A function of Azure and its timer have one name.
            (Some(function), Some(trigger)) if self.json => {
                let trigger = TriggerFacts::new(config, trigger, self.after_ms());
                json(&Both { function: FunctionFacts::new(function), trigger })?
            }
            (Some(function), Some(trigger)) => {
                self.function(function)? + "\n" + &self.trigger(config, trigger)?
            }
            (None, None) => bail!("{}", no_function(config, name, path)),
        };
        Stream::Data.write(&text)?;
        Ok(Exit::Good)
    }

    fn function(&self, function: &Function) -> anyhow::Result<String> {
        let facts = FunctionFacts::new(function);
        Ok(if self.json { json(&facts)? } else { text::function(&facts, Stream::Data.width()) })
    }

    fn trigger(&self, config: &Config, trigger: &Trigger) -> anyhow::Result<String> {
        let facts = TriggerFacts::new(config, trigger, self.after_ms());
        Ok(if self.json { json(&facts)? } else { text::trigger(&facts, Stream::Data.width()) })
    }

    fn after_ms(&self) -> i64 {
        self.after.unwrap_or_else(now_ms)
    }

    fn machine(&self, source: &Source, machine: &Machine) -> anyhow::Result<String> {
        let facts = MachineFacts::new(source, machine, self.dialect.into());
        if self.json {
            return json(&facts);
        }
        Ok(text::machine(machine, &facts, source.name(), Stream::Data.width()))
    }

    fn state(&self, source: &Source, machine: &Machine, name: &str) -> anyhow::Result<String> {
        let found = find(machine, name, source.name())?;
        let facts = StateFacts::new(source, &found, self.dialect.into());
        if self.json {
            return json(&facts);
        }
        Ok(text::state(&facts, source.name(), Stream::Data.width()))
    }
}

/// A function and a trigger of the same name.
#[derive(Serialize)]
struct Both {
    #[serde(flatten)]
    function: FunctionFacts,
    trigger: TriggerFacts,
}

/// Whatever else is wrong with the configuration.
fn is_configured(path: &Path, name: &str) -> bool {
    let has = |config: &Config| config.function(name).is_some() || config.trigger(name).is_some();
    configuration::read(path, &Parameters::default())
        .is_ok_and(|parsed| parsed.fragment().is_some_and(has))
}

fn moment(text: &str) -> anyhow::Result<i64> {
    Ok(timestamp::parse(text)?.to_millis())
}

fn find<'m>(machine: &'m Machine, name: &str, file: &str) -> anyhow::Result<Found<'m>> {
    let states = each(machine);
    if let Some(found) = states.iter().find(|found| &*found.state.name == name) {
        return Ok(found.clone());
    }
    match nearest(name, states.iter().map(|found| &*found.state.name)) {
        Some(near) => bail!("unknown state `{name}` in {file}; did you mean `{near}`?"),
        None => {
            bail!("unknown state `{name}` in {file}; `everstep explain {file}` lists all states")
        }
    }
}

fn json(facts: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_json::to_string_pretty(facts)? + "\n";
    Ok(terminal::json(&text).into_owned())
}

fn refuse(parsed: everstep_config::Parsed) -> anyhow::Result<Exit> {
    let files: Vec<Checked> = parsed
        .sources
        .into_iter()
        .enumerate()
        .map(|(index, source)| {
            let own =
                |found: &&everstep_config::Diagnostic| found.file == index && found.is_error();
            let diagnostics = parsed.diagnostics.iter().filter(own).cloned().collect();
            Checked { source, diagnostics, omitted: 0 }
        })
        .collect();
    for file in &files {
        Stream::Story.write(&render::text::problems(file, Stream::Story))?;
    }
    Stream::Story.write(&format!("{}\n", render::summary(&files)))?;
    Ok(Exit::Problems)
}

fn no_function(config: &Config, name: &str, path: &Path) -> String {
    let path = path.display();
    if let Some(machine) = config.state_machine(name) {
        return format!(
            "`{name}` is a state machine ({}); specify its definition file",
            machine.line
        );
    }
    let functions = config.functions.iter().map(|function| &*function.name);
    let triggers = config.triggers.iter().map(|trigger| &*trigger.name);
    match nearest(name, functions.chain(triggers)) {
        Some(near) if config.trigger(near).is_some() => {
            format!("unknown trigger `{name}` in {path}; did you mean `{near}`?")
        }
        Some(near) => format!("unknown function `{name}` in {path}; did you mean `{near}`?"),
        None => format!("`{name}` is neither a file nor a function or trigger of {path}"),
    }
}
