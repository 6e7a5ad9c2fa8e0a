//! Everything about a whole machine.

use everstep_asl::{Machine, Source};
use serde::Serialize;

use super::scope;
use super::state::StateFacts;
use super::time::Longest;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MachineFacts {
    pub(crate) comment: Option<String>,
    pub(crate) start_at: String,
    pub(crate) query_language: &'static str,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) longest: Longest,
    /// Each followed by those inside it, in the order of the definition.
    pub(crate) states: Vec<StateFacts>,
}

impl MachineFacts {
    pub(crate) fn new(source: &Source, machine: &Machine) -> Self {
        Self {
            comment: machine.comment.clone(),
            start_at: machine.state(machine.start_at).name.to_string(),
            query_language: machine.query_language.name(),
            timeout_seconds: machine.timeout_seconds,
            longest: Longest::of_machine(machine),
            states: scope::each(machine)
                .iter()
                .map(|found| StateFacts::new(source, found))
                .collect(),
        }
    }
}
