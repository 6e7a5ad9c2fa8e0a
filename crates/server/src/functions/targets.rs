//! The notification targets that the configuration names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_invocations::Functions as _;

use super::calls::Calls;
use crate::tag_settings::{Syntax, Targets};

pub(crate) struct KnownTargets {
    calls: Arc<Calls>,
    /// Targets with the values of their variables, by how they are written.
    resolved: Mutex<HashMap<String, String>>,
}

impl KnownTargets {
    pub(super) fn new(calls: Arc<Calls>, targets: HashMap<String, String>) -> Self {
        Self { calls, resolved: Mutex::new(targets) }
    }

    /// Adds the targets of a configuration, by how they are written: what is stored and shown holds no secret.
    /// Targets of earlier configurations stay, because records for them may still be on their way.
    pub(crate) fn add(&self, targets: HashMap<String, String>) {
        self.lock().extend(targets);
    }

    pub(super) fn contains(&self, written: &str) -> bool {
        self.lock().contains_key(written)
    }

    /// A target with the values of its variables.
    pub(super) fn resolve(&self, written: &str) -> Result<String, String> {
        match self.lock().get(written) {
            Some(found) => Ok(found.clone()),
            None if written.contains("${env:") => {
                Err(format!("the configuration no longer has the target '{written}'"))
            }
            None => Ok(written.to_owned()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.resolved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Targets for KnownTargets {
    fn problem(&self, target: &str) -> Option<String> {
        if self.contains(target) {
            return None;
        }
        let problem = Syntax.problem(target);
        let function = target.strip_prefix("function:").filter(|_| problem.is_none());
        match function {
            Some(name) if self.calls.function(name).is_none() => {
                Some(format!("there is no function '{name}'"))
            }
            _ => problem,
        }
    }
}
