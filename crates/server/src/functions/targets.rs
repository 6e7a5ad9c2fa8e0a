//! The notification targets that the configuration names.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everstep_invocations::Functions as _;
use everstep_target::Target;

use super::calls::Calls;
use crate::tag_settings::{Syntax, Targets};

pub(crate) struct KnownTargets {
    calls: Arc<Calls>,
    /// Targets with the values of their variables, by how they are written.
    resolved: Mutex<HashMap<String, Target>>,
}

impl KnownTargets {
    pub(super) fn new(calls: Arc<Calls>, targets: HashMap<String, Target>) -> Self {
        Self { calls, resolved: Mutex::new(targets) }
    }

    /// Adds the targets of a configuration, by how they are written: what is stored and shown holds no secret.
    /// Targets of earlier configurations stay, because records for them may still be on their way.
    pub(crate) fn add(&self, targets: HashMap<String, Target>) {
        self.lock().extend(targets);
    }

    pub(super) fn contains(&self, written: &str) -> bool {
        self.lock().contains_key(written)
    }

    /// A target with the values of its variables.
    pub(super) fn resolve(&self, target: &Target) -> Result<Target, String> {
        match self.lock().get(&target.to_string()) {
            Some(found) => Ok(found.clone()),
            None if target.has_variables() => {
                Err(format!("the configuration no longer has the target '{target}'"))
            }
            None => Ok(target.clone()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Target>> {
        self.resolved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Targets for KnownTargets {
    fn problem(&self, target: &str) -> Option<String> {
        if self.contains(target) {
            return None;
        }
        let problem = Syntax.problem(target);
        match Target::from(target) {
            Target::Function(name) if problem.is_none() && self.calls.function(&name).is_none() => {
                Some(format!("there is no function '{name}'"))
            }
            _ => problem,
        }
    }
}
