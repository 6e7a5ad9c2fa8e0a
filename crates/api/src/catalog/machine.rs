//! State machines, their versions and aliases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A state machine as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) express: bool,
    pub(crate) created_ms: i64,
    /// It goes when its executions are over.
    pub(crate) deleting: bool,
    pub(crate) settings: Settings,
    pub(crate) tags: BTreeMap<String, String>,
    /// The number of the last version, even if that is gone.
    pub(crate) last_version: u32,
}

/// What an update can change, and a version keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// New with every change.
    pub(crate) revision_id: String,
    /// As it was created: such a revision shows no id.
    pub(crate) initial: bool,
    pub(crate) updated_ms: i64,
    pub(crate) definition: String,
    pub(crate) role_arn: String,
    pub(crate) logging: Option<Value>,
    pub(crate) tracing: Option<Value>,
    pub(crate) encryption: Option<Value>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) arn: String,
    pub(crate) number: u32,
    pub(crate) description: Option<String>,
    pub(crate) created_ms: i64,
    pub(crate) settings: Settings,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Alias {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) created_ms: i64,
    pub(crate) updated_ms: i64,
    pub(crate) routes: Vec<Route>,
}

/// A version and its part of an alias's executions, in percent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Route {
    pub(crate) version_arn: String,
    pub(crate) weight: u32,
}

impl Machine {
    pub(crate) const PREFIX: &'static str = "machine/";

    pub(crate) fn key(arn: &str) -> String {
        format!("{}{arn}", Self::PREFIX)
    }
}

impl Version {
    /// Numbers have one length, so that their keys are in their order.
    pub(crate) fn key(machine_arn: &str, number: u32) -> String {
        format!("{}{number:010}", Self::prefix(machine_arn))
    }

    pub(crate) fn prefix(machine_arn: &str) -> String {
        format!("version/{machine_arn}/")
    }
}

impl Alias {
    pub(crate) fn key(machine_arn: &str, name: &str) -> String {
        format!("{}{name}", Self::prefix(machine_arn))
    }

    pub(crate) fn prefix(machine_arn: &str) -> String {
        format!("alias/{machine_arn}/")
    }
}
