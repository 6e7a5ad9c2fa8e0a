//! `everstep rules`: what definitions are checked against.

use everstep_source::nearest;
use std::fmt::Write as _;

use clap::Args;
use everstep_asl::Rule;

use crate::exit::Exit;
use crate::output::Stream;

/// List the rules of `validate`, or explain one
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Rules {
    /// Rule to explain, as in `error[unknown-state-type]`
    #[arg(value_parser = rule)]
    name: Option<Rule>,
}

const AFTER_HELP: &str = "\
Examples:
  everstep rules
  everstep rules catch-discards-input";

impl Rules {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let text = match self.name {
            Some(rule) => rule.page().to_owned(),
            None => list(),
        };
        Stream::Data.write(&text)?;
        Ok(Exit::Good)
    }
}

fn list() -> String {
    let mut text = String::new();
    let width = Rule::ALL.iter().map(|rule| rule.name().len()).max().unwrap_or_default();
    for (group, rules) in Rule::GROUPS {
        let gap = if text.is_empty() { "" } else { "\n" };
        let _ = writeln!(text, "{gap}{group}");
        for rule in *rules {
            let severity = rule.severity().name();
            let _ = writeln!(text, "  {severity:7}  {:width$}  {}", rule.name(), rule.summary());
        }
    }
    text
}

/// A rule by its name, for arguments.
pub(super) fn rule(name: &str) -> Result<Rule, String> {
    Rule::find(name).ok_or_else(|| {
        let names = Rule::ALL.iter().map(|rule| rule.name());
        match nearest(name, names) {
            Some(near) => format!("unknown rule; did you mean `{near}`?"),
            None => "unknown rule; `everstep rules` lists all rules".to_owned(),
        }
    })
}
