//! `UntagResource`: keys that are not there are ignored.

use serde_json::{Value, json};

use super::Answer;
use super::tags::Resource;
use crate::args::Args;
use crate::service::Service;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let keys = args.value("tagKeys").and_then(Value::as_array);
    let keys: Vec<&str> = keys.into_iter().flatten().filter_map(Value::as_str).collect();
    loop {
        let mut resource = Resource::find(service, args)?;
        resource.tags().retain(|key, _| !keys.contains(&key.as_str()));
        if resource.store(service).await? {
            return Ok(json!({}));
        }
    }
}
