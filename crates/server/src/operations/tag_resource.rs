//! `TagResource`: a key that is there gets the new value.

use serde_json::json;

use super::Answer;
use super::tags::{self, Resource};
use crate::args::Args;
use crate::service::Service;
use crate::tag_settings;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let tags = tags::read(args)?;
    loop {
        let mut resource = Resource::find(service, args)?;
        tag_settings::check(service, resource.holder(), &tags)?;
        resource.tags().extend(tags.clone());
        tags::within_bounds(args, resource.tags(), args.text("resourceArn"))?;
        if resource.store(service).await? {
            return Ok(json!({}));
        }
    }
}
