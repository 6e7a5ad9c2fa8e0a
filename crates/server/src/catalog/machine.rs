//! State machines, their versions and aliases.
//!
//! Every change to a machine, its versions or its aliases also writes the machine's row: that puts them in
//! one order. The row is small, for each start of an execution reads it; definitions have rows of their own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A state machine as it is now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Machine {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) express: bool,
    pub(crate) created_ms: i64,
    /// What the request that made it said of a version; a request that repeats it says the same.
    pub(crate) created_with: Publication,
    /// It goes when its executions are over.
    pub(crate) deleting: bool,
    pub(crate) settings: Settings,
    /// The definition before this one. It is kept for those who have just read where it is.
    pub(crate) previous: Option<String>,
    pub(crate) tags: BTreeMap<String, String>,
    /// The number of the last version, even if that is gone.
    pub(crate) last_version: u32,
    /// The number of the version that is as the machine is now.
    pub(crate) published: Option<u32>,
    pub(crate) versions: u32,
    pub(crate) aliases: u32,
    /// Counts changes, so that no two states of a row are equal.
    pub(crate) changes: u64,
}

/// What an update can change, and a version keeps. A configuration that is the default is absent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    /// New with every change.
    pub(crate) revision_id: String,
    /// As it was created: such a revision shows no id.
    pub(crate) initial: bool,
    pub(crate) updated_ms: i64,
    /// The digest of the definition.
    pub(crate) definition: String,
    pub(crate) role_arn: String,
    pub(crate) logging: Option<Value>,
    pub(crate) tracing: Option<Value>,
    pub(crate) encryption: Option<Value>,
}

/// Whether a version is to be published, and how it is described.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Publication {
    pub(crate) publish: bool,
    pub(crate) description: Option<String>,
}

/// A definition as it was given, and what is read off it only once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Definition {
    pub(crate) text: String,
    /// `variableReferences`, if there are any.
    pub(crate) references: Option<Value>,
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

/// A machine that is being deleted: found without looking at all the others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deleting {
    pub(crate) arn: String,
}

impl Machine {
    pub(crate) const PREFIX: &'static str = "machine/";

    pub(crate) fn key(arn: &str) -> String {
        format!("{}{arn}", Self::PREFIX)
    }
}

impl Settings {
    /// Each revision is kept while its machine is: executions are described by it.
    pub(crate) fn key(machine_arn: &str, revision_id: &str) -> String {
        format!("{}{revision_id}", Self::prefix(machine_arn))
    }

    pub(crate) fn prefix(machine_arn: &str) -> String {
        format!("settings/{machine_arn}/")
    }

    /// Whether the two do the same: when it became so does not matter.
    pub(crate) fn same(&self, other: &Self) -> bool {
        let what = |settings: &Self| {
            let Self { definition, role_arn, logging, tracing, encryption, .. } = settings.clone();
            (definition, role_arn, logging, tracing, encryption)
        };
        what(self) == what(other)
    }
}

impl Definition {
    pub(crate) fn key(machine_arn: &str, digest: &str) -> String {
        format!("{}{digest}", Self::prefix(machine_arn))
    }

    pub(crate) fn prefix(machine_arn: &str) -> String {
        format!("definition/{machine_arn}/")
    }

    /// Texts that differ in a space differ: so the service compares them.
    pub(crate) fn digest(text: &str) -> String {
        Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
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

    pub(crate) fn leads_to(&self, version_arn: &str) -> bool {
        self.routes.iter().any(|route| route.version_arn == version_arn)
    }
}

impl Deleting {
    pub(crate) const PREFIX: &'static str = "deleting/";

    pub(crate) fn key(arn: &str) -> String {
        format!("{}{arn}", Self::PREFIX)
    }
}
