//! `everstep check`: every problem of a configuration and of the definitions it names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use everstep_asl::{DIAGNOSTICS_MAX, Diagnostic, Dialect, Options, Place, Source};
use everstep_config::model::{DefinitionOrigin, StateMachine};
use everstep_config::{Config, Parsed};

use crate::configuration;
use crate::exit::Exit;
use crate::output::{Stream, count};
use crate::render::{self, Checked};
use crate::template_parameters::TemplateParameters;
use everstep_analysis::agreement::{self, Others};
use everstep_analysis::code;

/// Check a configuration or SAM template, its definitions and its code
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Check {
    /// Configuration or SAM template, or a folder that contains everstep.yaml or template.yaml
    #[arg(default_value = ".", value_name = "FILE|DIR")]
    path: PathBuf,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    parameters: TemplateParameters,
    #[command(flatten)]
    strictness: Strictness,
}

/// What commands that report problems have in common.
#[derive(Debug, Args)]
pub(super) struct Strictness {
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Print problems only
    #[arg(long, short)]
    pub(super) quiet: bool,
}

impl Strictness {
    pub(super) fn exit(&self, checked: &[Checked]) -> Exit {
        let fails = |file: &Checked| file.errors() > 0 || (self.strict && file.warnings() > 0);
        if checked.iter().any(fails) { Exit::Problems } else { Exit::Good }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
}

const AFTER_HELP: &str = "\
Examples:
  everstep check
  everstep check services/orders
  everstep check template.yaml --parameter Stage=dev
  everstep check --strict --format json staging.yaml

Each problem is reported with its place, its reason and a fix.

Exit codes:
  0  no errors (with --strict, no warnings either)
  1  problems found
  2  invalid arguments, or no readable configuration

To see what a retry policy does, run `everstep explain FUNCTION`.";

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let entry = configuration::locate(&self.path)?;
        let parsed = configuration::read(&entry, &self.parameters.clone().anywhere())?;
        let good = parsed.config().map(summary);
        let checked = check(parsed, &for_check()).files;
        match self.format {
            Format::Text => self.write_text(&checked, good)?,
            Format::Json => Stream::Data.write_json(&render::json::report(&checked))?,
        }
        Ok(self.strictness.exit(&checked))
    }

    fn write_text(&self, checked: &[Checked], good: Option<String>) -> anyhow::Result<()> {
        for file in checked {
            Stream::Data.write(&render::text::problems(file, Stream::Data))?;
        }
        if self.strictness.quiet {
            return Ok(());
        }
        let found = checked.iter().any(|file| !file.diagnostics.is_empty());
        let line = match (good, found) {
            (Some(good), false) => format!("{}: ok: {good}", checked[0].source.name()),
            _ => render::summary(checked),
        };
        Stream::Story.write(&format!("{line}\n"))
    }
}

/// Warnings that a server shows when it starts.
const SHOWN_MAX: usize = 10;

/// The server that a configuration is for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Server {
    pub(crate) others: Others,
    /// Of machines that set none.
    pub(crate) dialect: Dialect,
}

/// The server that would be started here.
fn for_check() -> Server {
    let others = match std::env::var_os("LAMBDA_ENDPOINT").filter(|url| !url.is_empty()) {
        Some(_) => Others::Elsewhere,
        None => Others::Nowhere,
    };
    let dialect = std::env::var("EVERSTEP_DIALECT").ok().and_then(|name| Dialect::find(&name));
    Server { others, dialect: dialect.unwrap_or_default() }
}

/// A configuration that a server can start with.
pub(crate) struct Usable {
    pub(crate) config: Config,
    /// The machines whose definitions have errors.
    pub(crate) invalid: BTreeSet<String>,
}

/// What a server reports about its configuration, on standard error: every problem if one is an error, else
/// where definitions and functions disagree, and how many other warnings there are. Returns the configuration
/// if all errors are in definitions.
pub(crate) fn report(parsed: Parsed, server: &Server) -> anyhow::Result<Option<Usable>> {
    let config = parsed.config().cloned();
    let Checkup { mut files, invalid, errors_outside } = check(parsed, server);
    let errors: usize = files.iter().map(Checked::errors).sum();
    let warnings: usize = files.iter().map(Checked::warnings).sum();
    if errors == 0 {
        let mut room = SHOWN_MAX;
        for file in &mut files {
            file.diagnostics.retain(agreement::is_disagreement);
            file.diagnostics.truncate(room);
            room -= file.diagnostics.len();
        }
    }
    for file in &files {
        Stream::Story.write(&render::text::problems(file, Stream::Story))?;
    }
    if errors_outside > 0 {
        return Ok(None);
    }
    let shown: usize = files.iter().map(Checked::warnings).sum();
    let warnings = warnings - shown;
    if warnings > 0 {
        let them = if warnings == 1 { "it" } else { "them" };
        let warnings = count(warnings, if shown > 0 { "more warning" } else { "warning" });
        Stream::Story.write(&format!("{warnings}: run `everstep check` to see {them}\n"))?;
    }
    Ok(config.map(|config| Usable { config, invalid }))
}

/// `2 functions, 1 state machine`
fn summary(config: &Config) -> String {
    let counts = [
        (config.functions.len(), "function"),
        (config.state_machines.len(), "state machine"),
        (config.queues.len(), "queue"),
        (config.destinations.len(), "destination"),
        (config.triggers.len(), "trigger"),
    ];
    let words: Vec<String> = counts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, noun)| count(number, noun))
        .collect();
    if words.is_empty() { "empty".to_owned() } else { words.join(", ") }
}

/// All that was found.
struct Checkup {
    /// The files of the configuration, then those of definitions.
    files: Vec<Checked>,
    invalid: BTreeSet<String>,
    /// Errors that are not in definitions.
    errors_outside: usize,
}

fn check(parsed: Parsed, server: &Server) -> Checkup {
    let mut definitions = Definitions::default();
    for machine in parsed.fragment().iter().flat_map(|config| &config.state_machines) {
        definitions.check(machine, parsed.config(), server);
    }
    let code = parsed.fragment().map(|config| code::check(config, &parsed.sources));
    let mut checked: Vec<Checked> = parsed
        .sources
        .into_iter()
        .map(|source| Checked { source, diagnostics: Vec::new(), omitted: 0 })
        .collect();
    for found in parsed.diagnostics.into_iter().chain(code.into_iter().flatten()) {
        checked[found.file].diagnostics.push(found);
    }
    let errors_outside = checked.iter().map(Checked::errors).sum();
    if let Some(entry) = checked.first_mut() {
        entry.omitted += parsed.omitted;
    }
    for found in definitions.inside {
        checked[found.file].diagnostics.push(found);
    }
    for file in &mut checked {
        file.diagnostics.sort_by_key(|found| found.span.start);
    }
    checked.extend(definitions.files.into_values());
    Checkup { files: checked, invalid: definitions.invalid, errors_outside }
}

#[derive(Default)]
struct Definitions {
    /// Definitions with a text of their own, by name; several machines may share one.
    files: BTreeMap<String, Checked>,
    /// Problems of definitions that are written in the configuration, with the file they are in.
    inside: Vec<Diagnostic>,
    /// Machines whose definitions have errors.
    invalid: BTreeSet<String>,
}

impl Definitions {
    /// Functions and a definition are only compared if neither has errors.
    fn check(&mut self, machine: &StateMachine, config: Option<&Config>, server: &Server) {
        let origin = &machine.definition.origin;
        let name = match origin {
            DefinitionOrigin::File(path) => path.display().to_string(),
            DefinitionOrigin::Text(line) => format!("{line}, definition of {}", machine.name),
            DefinitionOrigin::Fields { .. } => format!("{}.json", machine.name),
        };
        let source = Source::new(name, machine.definition.text.as_str());
        let own = machine.dialect.as_deref().and_then(Dialect::find);
        let (workflow_type, dialect) = (machine.workflow_type, own.unwrap_or(server.dialect));
        let options = Options { workflow_type, dialect, ..Options::default() };
        let parsed = everstep_asl::parse(&source, &options);
        let between = config
            .zip(parsed.machine())
            .map(|(config, machine)| agreement::check(config, &source, machine, server.others));
        let mut diagnostics: Vec<Diagnostic> = between.into_iter().flatten().collect();
        diagnostics.extend(parsed.diagnostics);
        if diagnostics.iter().any(Diagnostic::is_error) {
            self.invalid.insert(machine.name.clone());
        }
        diagnostics.sort_by_key(|found| found.span.start);
        // Errors are never left out: if there were any, nothing would be compared.
        let omitted = parsed.omitted + diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
        diagnostics.truncate(DIAGNOSTICS_MAX);
        if matches!(origin, DefinitionOrigin::Fields { .. }) {
            let moved = |found| moved(&source, machine, found);
            self.inside.extend(diagnostics.into_iter().filter_map(moved));
            return;
        }
        let checked = Checked { source, diagnostics, omitted };
        self.files.insert(checked.source.name().to_owned(), checked);
    }
}

/// From the text that was made of a definition to where it was written.
fn moved(source: &Source, machine: &StateMachine, mut found: Diagnostic) -> Option<Diagnostic> {
    let origin = &machine.definition.origin;
    let (file, written) = origin.at(&found.place.pointer).or_else(|| origin.at(""))?;
    let name = found.place.location.rsplit('/').next().unwrap_or_default();
    let marked = source.text().get(found.span.range()).unwrap_or_default();
    // The field's name was marked, or its value.
    found.span = match written.name_span {
        Some(span) if marked.trim_matches('"') == name => span,
        _ => written.node.span,
    };
    let around = Place::root().field("stateMachines").field(&machine.name).field("definition");
    found.place.pointer = around.pointer + &found.place.pointer;
    Some(found.in_file(file))
}
