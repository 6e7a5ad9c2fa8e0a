//! What happened, line by line: a digest of it always, the lines themselves when they are wanted.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::whose::Whose;

pub(crate) struct Log {
    digest: DefaultHasher,
    record: bool,
    lines: Vec<(Option<Whose>, String)>,
}

impl Log {
    pub(crate) fn new(record: bool) -> Self {
        Self { digest: DefaultHasher::new(), record, lines: Vec::new() }
    }

    pub(crate) fn line(&mut self, whose: Option<Whose>, text: impl FnOnce() -> String) {
        if self.record {
            self.lines.push((whose, text()));
        }
    }

    /// Makes something part of the digest.
    pub(crate) fn count(&mut self, what: impl Hash) {
        what.hash(&mut self.digest);
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// Lines that concern an execution or an invocation, or all of them.
    pub(crate) fn lines(self, whose: Option<Whose>) -> Vec<String> {
        let concerns = |of: &Option<Whose>| whose.is_none() || of.is_none() || *of == whose;
        let idle = |text: &str| whose.is_some() && text.starts_with("tick");
        self.lines
            .into_iter()
            .filter(|(of, text)| concerns(of) && !idle(text))
            .map(|(of, text)| of.map_or(text.clone(), |of| format!("{of:?} {text}")))
            .collect()
    }
}
