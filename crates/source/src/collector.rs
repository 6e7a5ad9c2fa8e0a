//! Where the problems of a document are collected.

use std::cell::{Cell, RefCell};

use crate::Diagnostic;

/// More problems than anyone reads; the rest is counted.
pub const DIAGNOSTICS_MAX: usize = 1000;

/// Beyond this many, problems are counted and not kept.
const KEPT_MAX: usize = 100_000;

#[derive(Debug, Default)]
pub struct Collector {
    found: RefCell<Vec<Diagnostic>>,
    errors: Cell<usize>,
    dropped: Cell<usize>,
}

/// What was collected, in the order of the documents.
#[derive(Debug, Default)]
pub struct Collected {
    /// At most [`DIAGNOSTICS_MAX`]; warnings only where there is room beside all errors.
    pub diagnostics: Vec<Diagnostic>,
    /// How many were left out.
    pub omitted: usize,
    /// How many are errors, those that were left out included.
    pub errors: usize,
}

impl Collector {
    pub fn report(&self, diagnostic: Diagnostic) {
        self.errors.set(self.errors.get() + usize::from(diagnostic.is_error()));
        let mut found = self.found.borrow_mut();
        if found.len() < KEPT_MAX {
            found.push(diagnostic);
        } else {
            self.dropped.set(self.dropped.get() + 1);
        }
    }

    /// How many have been found so far.
    #[must_use]
    pub fn count(&self) -> usize {
        self.found.borrow().len()
    }

    #[must_use]
    pub fn any(&self, is: impl Fn(&Diagnostic) -> bool) -> bool {
        self.found.borrow().iter().any(is)
    }

    /// What each that was found so far gives.
    #[must_use]
    pub fn map<T>(&self, of: impl Fn(&Diagnostic) -> Option<T>) -> Vec<T> {
        self.found.borrow().iter().filter_map(of).collect()
    }

    #[must_use]
    pub fn finish(&self) -> Collected {
        let mut diagnostics = self.found.take();
        diagnostics.sort_by_key(|found| (found.file, found.span.start, found.code));
        diagnostics.dedup();
        let omitted = shorten(&mut diagnostics) + self.dropped.get();
        Collected { diagnostics, omitted, errors: self.errors.get() }
    }
}

/// Keeps as many as are allowed, warnings only if there is room beside all errors.
fn shorten(diagnostics: &mut Vec<Diagnostic>) -> usize {
    let omitted = diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    if omitted > 0 {
        let errors = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        let mut room = [DIAGNOSTICS_MAX, DIAGNOSTICS_MAX.saturating_sub(errors)];
        diagnostics.retain(|diagnostic| {
            let room = &mut room[usize::from(!diagnostic.is_error())];
            let keep = *room > 0;
            *room = room.saturating_sub(1);
            keep
        });
    }
    omitted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, Rule, Severity, Span};

    #[derive(Clone, Copy)]
    struct Any(Severity);

    impl Rule for Any {
        fn code(self) -> &'static str {
            self.0.name()
        }

        fn severity(self) -> Severity {
            self.0
        }
    }

    #[test]
    fn errors_displace_warnings() {
        let collector = Collector::default();
        let report = |severity, at| {
            let place = Place::root();
            collector.report(Diagnostic::new(Any(severity), Span::new(at, at), place, "x"));
        };
        for at in 0..DIAGNOSTICS_MAX {
            report(Severity::Warning, at);
        }
        report(Severity::Error, DIAGNOSTICS_MAX);
        // The same problem twice is one.
        report(Severity::Error, DIAGNOSTICS_MAX);
        let Collected { diagnostics, omitted, errors } = collector.finish();
        assert_eq!((diagnostics.len(), omitted, errors), (DIAGNOSTICS_MAX, 1, 2));
        assert!(diagnostics.last().is_some_and(Diagnostic::is_error));
    }
}
