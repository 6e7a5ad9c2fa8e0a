//! Everything about a whole machine.

use everstep_asl::{Dialect, Machine, Source};
use serde::Serialize;

use super::scope;
use super::state::StateFacts;
use super::time::Longest;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MachineFacts {
    pub comment: Option<String>,
    pub start_at: String,
    pub query_language: &'static str,
    pub timeout_seconds: Option<u64>,
    pub longest: Longest,
    /// Each followed by those inside it, in the order of the definition.
    pub states: Vec<StateFacts>,
}

impl MachineFacts {
    pub fn new(source: &Source, machine: &Machine, dialect: Dialect) -> Self {
        Self {
            comment: machine.comment.clone(),
            start_at: machine.state(machine.start_at).name.to_string(),
            query_language: machine.query_language.name(),
            timeout_seconds: machine.timeout_seconds,
            longest: Longest::of_machine(machine),
            states: scope::each(machine)
                .iter()
                .map(|found| StateFacts::new(source, found, dialect))
                .collect(),
        }
    }
}
