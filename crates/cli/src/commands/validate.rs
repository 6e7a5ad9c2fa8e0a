//! `everstep validate`: every problem of a definition, in one of several forms.

use clap::{Args, ValueEnum};
use everstep_asl::{Diagnostic, Dialect, Rule, Severity};

use super::check::Strictness;
use super::rules::rule;
use crate::definition::{self, Type};
use crate::dialect::DialectName;
use crate::exit::Exit;
use crate::output::{self, Stream};
use crate::render::{self, Checked};

/// Check state machine definitions
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Validate {
    /// Definitions, JSON or YAML; `-` for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Workflow type of the definitions
    #[arg(long = "type", value_enum, default_value_t, value_name = "TYPE")]
    workflow_type: Type,
    /// Which rules apply where the specification and AWS differ [default: spec; with --format aws, aws]
    #[arg(long, value_enum)]
    dialect: Option<DialectName>,
    /// Disable a warning (can be repeated)
    #[arg(long, value_name = "RULE", value_parser = warning)]
    allow: Vec<Rule>,
    /// Treat a warning as an error (can be repeated)
    #[arg(long, value_name = "RULE", value_parser = rule)]
    deny: Vec<Rule>,
    #[command(flatten)]
    strictness: Strictness,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// The response of ValidateStateMachineDefinition; takes one file
    Aws,
}

const AFTER_HELP: &str = "\
Examples:
  everstep validate order.asl.json
  everstep validate --strict workflows/*.asl.json
  everstep validate --dialect aws order.asl.json
  everstep validate --format sarif workflows/*.asl.json > everstep.sarif
  everstep validate --allow task-without-timeout order.asl.json
  everstep validate --deny catch-discards-input order.asl.json
  everstep machines show order --definition | everstep validate -

Each problem is reported with its place, its reason and a fix.

Exit codes:
  0  no errors (with --strict, no warnings either)
  1  problems found
  2  invalid arguments, or a file cannot be read

To list the rules, run `everstep rules`; to explain one, `everstep rules NAME`.";

fn warning(name: &str) -> Result<Rule, String> {
    let rule = rule(name)?;
    match rule.severity() {
        Severity::Warning => Ok(rule),
        Severity::Error => {
            Err("a definition with this error cannot run; only warnings can be disabled".to_owned())
        }
    }
}

impl Validate {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.format == Format::Aws && self.files.len() > 1 {
            anyhow::bail!("--format aws takes one file");
        }
        let (checked, unreadable) = self.check_all();
        if checked.is_empty() {
            return Ok(Exit::Unusable);
        }
        match self.format {
            Format::Text => self.write_text(&checked)?,
            Format::Json => Stream::Data.write_json(&render::json::report(&checked))?,
            Format::Sarif => Stream::Data.write_json(&render::sarif::log(&checked))?,
            Format::Aws => Stream::Data.write_json(&render::aws::answer(&checked[0]))?,
        }
        Ok(if unreadable { Exit::Unusable } else { self.strictness.exit(&checked) })
    }

    fn dialect(&self) -> Dialect {
        match (self.dialect, self.format) {
            (Some(given), _) => given.into(),
            (None, Format::Aws) => Dialect::Aws,
            (None, _) => Dialect::default(),
        }
    }

    /// Files that cannot be read do not keep the others from being checked.
    fn check_all(&self) -> (Vec<Checked>, bool) {
        let mut checked = Vec::new();
        let mut unreadable = false;
        for file in &self.files {
            match definition::read(file) {
                Ok(source) => {
                    let parsed =
                        everstep_asl::parse(&source, &self.workflow_type.options(self.dialect()));
                    let diagnostics = self.judge(parsed.diagnostics);
                    checked.push(Checked { source, diagnostics, omitted: parsed.omitted });
                }
                Err(error) => {
                    output::report_error(&error);
                    unreadable = true;
                }
            }
        }
        (checked, unreadable)
    }

    /// The service has no such settings.
    fn judge(&self, diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if self.format == Format::Aws {
            return diagnostics;
        }
        let raise = |found: Diagnostic| {
            if self.deny.iter().any(|rule| found.is(*rule)) {
                found.severity(Severity::Error)
            } else {
                found
            }
        };
        let allowed = |found: &Diagnostic| {
            self.allow.iter().any(|rule| found.is(*rule)) && found.severity == Severity::Warning
        };
        diagnostics.into_iter().map(raise).filter(|found| !allowed(found)).collect()
    }

    fn write_text(&self, checked: &[Checked]) -> anyhow::Result<()> {
        for file in checked {
            Stream::Data.write(&render::text::problems(file, Stream::Data))?;
            if file.diagnostics.is_empty() && !self.strictness.quiet {
                Stream::Story.write(&format!("{}: ok\n", file.source.name()))?;
            }
        }
        let found = checked.iter().any(|file| !file.diagnostics.is_empty());
        if !self.strictness.quiet && (found || checked.len() > 1) {
            Stream::Story.write(&format!("{}\n", render::summary(checked)))?;
        }
        Ok(())
    }
}
