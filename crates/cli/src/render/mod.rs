//! The problems of definitions and configurations, written in several forms.

pub(crate) mod aws;
pub(crate) mod json;
pub(crate) mod sarif;
pub(crate) mod text;

use everstep_source::{Diagnostic, Source};

use crate::output::count;

/// A text and what is wrong with it.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) source: Source,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// How many more there are.
    pub(crate) omitted: usize,
}

impl Checked {
    pub(crate) fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|found| found.is_error()).count()
    }

    pub(crate) fn warnings(&self) -> usize {
        self.diagnostics.len() - self.errors()
    }
}

/// `2 errors, 1 warning in 3 files`
pub(crate) fn summary(checked: &[Checked]) -> String {
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
