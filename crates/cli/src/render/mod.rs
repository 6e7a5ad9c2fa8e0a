//! The problems of definitions and configurations, written in several forms.

pub(crate) mod aws;
pub(crate) mod json;
pub(crate) mod sarif;
pub(crate) mod text;

use everstep_analysis::agreement::Disagreement;
use everstep_asl::{Diagnostic, Severity, Source, Span};

use crate::output::count;

/// A text and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Checked<D = Diagnostic> {
    pub(crate) source: Source,
    pub(crate) diagnostics: Vec<D>,
    /// How many more there are.
    pub(crate) omitted: usize,
}

/// What every kind of problem has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Problem<'d> {
    pub(crate) rule: &'static str,
    pub(crate) severity: Severity,
    pub(crate) span: Span,
    pub(crate) pointer: &'d str,
    pub(crate) message: &'d str,
    pub(crate) hint: Option<&'d str>,
    pub(crate) replacement: Option<&'d str>,
}

pub(crate) trait AsProblem {
    fn problem(&self) -> Problem<'_>;
}

impl AsProblem for Diagnostic {
    fn problem(&self) -> Problem<'_> {
        Problem {
            rule: self.rule.name(),
            severity: self.severity,
            span: self.span,
            pointer: &self.place.pointer,
            message: &self.message,
            hint: self.hint.as_deref(),
            replacement: self.replacement.as_deref(),
        }
    }
}

impl AsProblem for everstep_config::Diagnostic {
    fn problem(&self) -> Problem<'_> {
        Problem {
            rule: self.rule.name(),
            severity: self.severity,
            span: self.span,
            pointer: &self.place.pointer,
            message: &self.message,
            hint: self.hint.as_deref(),
            replacement: self.replacement.as_deref(),
        }
    }
}

impl AsProblem for Disagreement {
    fn problem(&self) -> Problem<'_> {
        Problem {
            rule: self.rule.name(),
            severity: self.rule.severity(),
            span: self.span,
            pointer: &self.place.pointer,
            message: &self.message,
            hint: Some(&self.hint),
            replacement: None,
        }
    }
}

impl<D: AsProblem> Checked<D> {
    pub(crate) fn errors(&self) -> usize {
        let severity = |found: &&D| found.problem().severity == Severity::Error;
        self.diagnostics.iter().filter(severity).count()
    }

    pub(crate) fn warnings(&self) -> usize {
        self.diagnostics.len() - self.errors()
    }
}

/// `2 errors, 1 warning in 3 files`
pub(crate) fn summary<D: AsProblem>(checked: &[Checked<D>]) -> String {
    let errors: usize = checked.iter().map(Checked::errors).sum();
    let warnings: usize = checked.iter().map(Checked::warnings).sum();
    let found = match (errors, warnings) {
        (0, 0) => "no problems".to_owned(),
        (errors, 0) => count(errors, "error"),
        (0, warnings) => count(warnings, "warning"),
        (errors, warnings) => format!("{}, {}", count(errors, "error"), count(warnings, "warning")),
    };
    let omitted: usize = checked.iter().map(|file| file.omitted).sum();
    let more = if omitted > 0 { format!(", {omitted} more not shown,") } else { String::new() };
    format!("{found}{more} in {}", count(checked.len(), "file"))
}
