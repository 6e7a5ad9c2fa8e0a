//! `everstep validate`: every problem of a definition, in one of several forms.

use clap::{Args, ValueEnum};
use everstep_asl::{Diagnostic, Rule, Severity};

use super::rules::rule;
use crate::definition::{self, Type};
use crate::exit::Exit;
use crate::output::{self, Stream};
use crate::render::{self, Checked};

/// Check definitions, and say what is wrong, where, why, and what to do
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Validate {
    /// Definitions in JSON or YAML; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<String>,
    /// How problems are written
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// The type of workflow that the definitions are for
    #[arg(long = "type", value_enum, default_value_t, value_name = "TYPE")]
    workflow_type: Type,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Silence a warning (repeatable)
    #[arg(long, value_name = "RULE", value_parser = warning)]
    allow: Vec<Rule>,
    /// Make a warning an error (repeatable)
    #[arg(long, value_name = "RULE", value_parser = rule)]
    deny: Vec<Rule>,
    /// Say nothing but the problems
    #[arg(long, short)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    #[default]
    Text,
    /// For programs
    Json,
    /// For code hosts and editors: SARIF 2.1.0
    Sarif,
    /// The answer that ValidateStateMachineDefinition gives; takes one file
    Aws,
}

const AFTER_HELP: &str = "\
Examples:
  everstep validate order.asl.json
  everstep validate --strict workflows/*.asl.json
  everstep validate --format sarif workflows/*.asl.json > everstep.sarif
  everstep validate --allow task-without-timeout --deny catch-discards-input order.asl.json
  aws stepfunctions describe-state-machine … --query definition --output text | everstep validate -

Problems are written to standard output, all else to standard error.

Exit codes:
  0  no errors (with --strict, no warnings either)
  1  problems found
  2  the command line is wrong, or a file cannot be read

`everstep rules` lists the rules, `everstep rules NAME` explains one.";

fn warning(name: &str) -> Result<Rule, String> {
    let rule = rule(name)?;
    match rule.severity() {
        Severity::Warning => Ok(rule),
        Severity::Error => Err("a definition with this error cannot run: only warnings can be \
                                allowed"
            .to_owned()),
    }
}

impl Validate {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.format == Format::Aws && self.files.len() > 1 {
            anyhow::bail!("--format aws is the answer for one definition; name one file");
        }
        let (checked, unreadable) = self.check_all();
        if checked.is_empty() {
            return Ok(Exit::Unusable);
        }
        match self.format {
            Format::Text => self.write_text(&checked)?,
            Format::Json => Stream::Data.write(&render::json::report(&checked))?,
            Format::Sarif => Stream::Data.write(&render::sarif::log(&checked))?,
            Format::Aws => Stream::Data.write(&render::aws::answer(&checked[0]))?,
        }
        let failed = checked.iter().any(|file| file.errors() + self.failing_warnings(file) > 0);
        let exit = if failed { Exit::Problems } else { Exit::Good };
        Ok(if unreadable { Exit::Unusable } else { exit })
    }

    /// Files that cannot be read do not keep the others from being checked.
    fn check_all(&self) -> (Vec<Checked>, bool) {
        let mut checked = Vec::new();
        let mut unreadable = false;
        for file in &self.files {
            match definition::read(file) {
                Ok(source) => {
                    let parsed = everstep_asl::parse(&source, &self.workflow_type.options());
                    let diagnostics = self.judge(parsed.diagnostics);
                    checked.push(Checked { source, diagnostics, omitted: parsed.omitted });
                }
                Err(error) => {
                    output::complain(&error);
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

    fn failing_warnings(&self, file: &Checked) -> usize {
        if self.strict { file.warnings() } else { 0 }
    }

    fn write_text(&self, checked: &[Checked]) -> anyhow::Result<()> {
        for file in checked {
            Stream::Data.write(&render::text::problems(file, Stream::Data))?;
            if file.diagnostics.is_empty() && !self.quiet {
                Stream::Story.write(&format!("{}: ok\n", file.source.name()))?;
            }
        }
        let found = checked.iter().any(|file| !file.diagnostics.is_empty());
        if !self.quiet && (found || checked.len() > 1) {
            Stream::Story.write(&format!("{}\n", render::summary(checked)))?;
        }
        Ok(())
    }
}
