//! Tags as requests bring them.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::args::Args;
use crate::protocol::{Error, Name};

/// As many as a resource may have.
pub(super) const TAGS_MAX: usize = 50;

pub(super) fn read(args: Args<'_>) -> Result<BTreeMap<String, String>, Error> {
    let text = |tag: &Value, member: &str| tag[member].as_str().unwrap_or_default().to_owned();
    let given = args.value("tags").and_then(Value::as_array);
    let tags: BTreeMap<String, String> =
        given.into_iter().flatten().map(|tag| (text(tag, "key"), text(tag, "value"))).collect();
    if tags.len() > TAGS_MAX {
        return Err(
            args.error(Name::TooManyTags, format!("a resource has at most {TAGS_MAX} tags"))
        );
    }
    Ok(tags)
}
