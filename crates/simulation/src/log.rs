//! What happened, line by line: a digest of it always, the lines themselves when they are wanted.

use std::hash::{DefaultHasher, Hash, Hasher};

use everstep_executions::ExecutionId;

pub(crate) struct Log {
    digest: DefaultHasher,
    record: bool,
    lines: Vec<(Option<ExecutionId>, String)>,
}

impl Log {
    pub(crate) fn new(record: bool) -> Self {
        Self { digest: DefaultHasher::new(), record, lines: Vec::new() }
    }

    pub(crate) fn line(&mut self, id: Option<ExecutionId>, text: impl FnOnce() -> String) {
        if self.record {
            self.lines.push((id, text()));
        }
    }

    /// Makes something part of the digest.
    pub(crate) fn count(&mut self, what: impl Hash) {
        what.hash(&mut self.digest);
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest.finish()
    }

    /// Lines that concern an execution, or all of them.
    pub(crate) fn lines(self, id: Option<ExecutionId>) -> Vec<String> {
        let concerns = |of: &Option<ExecutionId>| id.is_none() || of.is_none() || *of == id;
        let idle = |text: &str| id.is_some() && text.starts_with("tick");
        self.lines
            .into_iter()
            .filter(|(of, text)| concerns(of) && !idle(text))
            .map(|(of, text)| of.map_or(text.clone(), |of| format!("{of:?} {text}")))
            .collect()
    }
}
