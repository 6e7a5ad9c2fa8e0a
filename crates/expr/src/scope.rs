//! What an expression can see.

use serde_json::{Map, Value};

use crate::Entropy;

/// All that a path, an intrinsic function or a payload template may read.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// `$`
    pub input: &'a Value,
    /// `$$`
    pub context: &'a Value,
    /// `$name`
    pub variables: &'a dyn Variables,
    pub entropy: &'a Entropy,
    /// Whether `States.Format` writes arrays and objects, or refuses them.
    pub prints_structures: bool,
}

/// Workflow variables by name. The caller knows how scopes nest.
pub trait Variables {
    fn get(&self, name: &str) -> Option<&Value>;
}

impl Variables for Map<String, Value> {
    fn get(&self, name: &str) -> Option<&Value> {
        Map::get(self, name)
    }
}

/// No variable has been assigned.
pub struct NoVariables;

impl Variables for NoVariables {
    fn get(&self, _name: &str) -> Option<&Value> {
        None
    }
}
