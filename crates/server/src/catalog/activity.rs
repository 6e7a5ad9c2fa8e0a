//! Activities.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Activity {
    pub(crate) arn: String,
    pub(crate) name: String,
    pub(crate) created_ms: i64,
    pub(crate) encryption: Option<Value>,
    pub(crate) tags: BTreeMap<String, String>,
}

impl Activity {
    pub(crate) const PREFIX: &'static str = "activity/";

    pub(crate) fn key(arn: &str) -> String {
        format!("{}{arn}", Self::PREFIX)
    }
}
