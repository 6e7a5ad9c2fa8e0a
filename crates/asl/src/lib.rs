//! Amazon States Language definitions: read, checked, modelled.
//!
//! [`parse`] takes a text and returns the model and every problem at once. [`handling`] says which retrier or
//! catcher takes an error, and [`Dialect`] how the two dialects of the language differ. Running a definition is
//! the interpreter's; how expressions are written and evaluated is `expr`'s.

mod advice;
mod diagnostic;
mod dialect;
mod differences;
pub mod error_name;
pub mod handling;
mod integration;
mod lower;
pub mod model;
mod rule;
mod service;
mod variables;

pub use dialect::{Dialect, RuntimeError};
pub use differences::{DIFFERENCES, Difference};
use everstep_source::{Collected, reader};
pub use everstep_source::{
    DIAGNOSTICS_MAX, Diagnostic, Format, Place, Position, ServiceForm, Severity, Source, Span,
    document,
};
pub use model::{Machine, WorkflowType};
pub use rule::Rule;
pub use variables::references;

use crate::diagnostic::InServiceWords as _;

/// The service's own limit on a definition.
pub const DEFINITION_BYTES_MAX: usize = 1_048_576;

#[derive(Debug, Clone, Default)]
pub struct Options {
    pub workflow_type: WorkflowType,
    /// What the definition will run by.
    pub dialect: Dialect,
    /// The definition is one state taken out of its machine: what its transitions name is not there.
    pub lone_state: bool,
}

/// What came of a text.
#[derive(Debug)]
pub struct Parsed {
    machine: Option<Machine>,
    /// At most [`DIAGNOSTICS_MAX`], errors before warnings where there are more.
    pub diagnostics: Vec<Diagnostic>,
    /// How many were left out.
    pub omitted: usize,
}

impl Parsed {
    /// The model, if there is no error.
    #[must_use]
    pub fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref().filter(|_| !self.has_errors())
    }

    #[must_use]
    pub fn into_machine(self) -> Option<Machine> {
        if self.has_errors() { None } else { self.machine }
    }

    /// The model of a definition that an earlier version has accepted and that something runs by:
    /// a rule that is stricter today must not strand it.
    #[must_use]
    pub fn into_accepted_machine(self) -> Option<Machine> {
        self.machine
    }

    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(Diagnostic::is_error)
    }
}

/// Reads and checks a definition.
#[must_use]
pub fn parse(source: &Source, options: &Options) -> Parsed {
    if source.text().len() > DEFINITION_BYTES_MAX {
        return refused(service::too_large(source));
    }
    let root = match document::read(source.text(), source.format()) {
        Ok(root) => root,
        Err(error) => return refused(service::unreadable(source, &error)),
    };
    let cx = lower::Cx::new(source, options);
    reader::report_repetitions(&cx, &root, &lower::Trail::root());
    if root.as_object().is_none() {
        return refused(service::not_an_object(&root));
    }
    let machine = lower::lower(&cx, &root);
    if let Some(machine) = &machine {
        variables::check(&cx, machine);
        advice::check(&cx, machine);
    }
    let Collected { mut diagnostics, omitted, .. } = cx.finish();
    if options.dialect.refuses_as_the_service_does() {
        refuse_in_service_words(&mut diagnostics);
    }
    Parsed { machine, diagnostics, omitted }
}

/// What the service refuses is an error.
fn refuse_in_service_words(diagnostics: &mut [Diagnostic]) {
    for found in diagnostics.iter_mut().filter(|found| found.service.is_some()) {
        found.severity = Severity::Error;
    }
}

fn refused(diagnostic: Diagnostic) -> Parsed {
    Parsed { machine: None, diagnostics: vec![diagnostic.or_in_our_words()], omitted: 0 }
}
