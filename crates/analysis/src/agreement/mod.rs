//! Whether the state machines of a configuration and its functions agree, which neither shows by itself. All of
//! it is advice: a definition may be meant for another server.

mod called;
mod compensation;
mod unknown_function;

use everstep_asl::Machine;
use everstep_config::{Config, Rule};
use everstep_source::document::{self, Node};
use everstep_source::{Diagnostic, Source};

/// A definition, as text with places and as what it means.
#[derive(Clone, Copy)]
struct Definition<'d> {
    machine: &'d Machine,
    root: &'d Node,
}

/// Where functions run that the configuration does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    Nowhere,
    /// At an endpoint of Lambda.
    Elsewhere,
}

pub fn check(
    config: &Config,
    source: &Source,
    machine: &Machine,
    others: Others,
) -> Vec<Diagnostic> {
    let Ok(root) = document::read(source.text(), source.format()) else { return Vec::new() };
    let definition = Definition { machine, root: &root };
    let mut found = match others {
        Others::Nowhere => unknown_function::check(config, definition),
        Others::Elsewhere => Vec::new(),
    };
    found.extend(compensation::check(config, definition));
    found
}

/// Whether a problem is one of those that are found here.
#[must_use]
pub fn is_disagreement(found: &Diagnostic) -> bool {
    found.is(Rule::UnknownFunction) || found.is(Rule::MissingCompensation)
}

/// What the modules here are tested with: a definition's states, some functions, and what is said.
#[cfg(test)]
fn said(functions: &str, states: &str) -> Vec<String> {
    let yaml = format!("functions: {functions}");
    let mut load = |_: &std::path::Path| Ok(yaml.clone());
    let parsed =
        everstep_config::read("everstep.yaml".as_ref(), &mut load, &|_| None, &Default::default());
    let config = parsed.config().unwrap_or_else(|| panic!("{:#?}", parsed.diagnostics));
    let start = states.split('"').nth(1).expect("a state");
    let text = format!(r#"{{"StartAt": "{start}", "States": {{{states}}}}}"#);
    let source = Source::new("a.json", text);
    let machine = everstep_asl::parse(&source, &everstep_asl::Options::default());
    let machine = machine.machine().unwrap_or_else(|| panic!("{:#?}", machine.diagnostics));
    let found = check(config, &source, machine, Others::Nowhere);
    let marked = |found: &Diagnostic| source.text()[found.span.range()].to_owned();
    found.iter().map(|found| format!("{}: {}", marked(found), found.message)).collect()
}
