//! `ListTagsForResource`.

use serde_json::{Value, json};

use super::Answer;
use super::tags::Resource;
use crate::args::Args;
use crate::service::Service;

pub(super) fn run(service: &Service, args: Args<'_>) -> Answer {
    let mut resource = Resource::find(service, args)?;
    let shown = |(key, value): (&String, &String)| json!({ "key": key, "value": value });
    Ok(json!({ "tags": resource.tags().iter().map(shown).collect::<Vec<Value>>() }))
}
