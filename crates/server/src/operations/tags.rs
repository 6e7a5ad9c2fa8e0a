//! Tags, and the machines and activities that have them.

use std::collections::BTreeMap;

use everstep_api::arn::{Arn, Kind};
use everstep_api::protocol::{Common, Error, Name};
use serde_json::Value;

use super::target;
use crate::args::Args;
use crate::catalog::{Activity, Change, Entry, Machine};
use crate::service::Service;
use crate::tag_settings::{self, Holder};

pub(super) type Tags = BTreeMap<String, String>;

/// As many as a resource may have.
const TAGS_MAX: usize = 50;

/// The tags of a request; of two with one key, the last.
pub(super) fn read(args: Args<'_>) -> Result<Tags, Error> {
    let text = |tag: &Value, member: &str| tag[member].as_str().unwrap_or_default().to_owned();
    let given = args.value("tags").and_then(Value::as_array);
    let tags: Tags =
        given.into_iter().flatten().map(|tag| (text(tag, "key"), text(tag, "value"))).collect();
    for (key, value) in &tags {
        if let Some(problem) = problem(key, value) {
            return Err(Error::common(Common::Validation, problem));
        }
    }
    within_bounds(args, &tags, None)?;
    Ok(tags)
}

/// What the service says of tags in words of its documentation; how it words its refusals is not recorded.
fn problem(key: &str, value: &str) -> Option<String> {
    let allowed = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_.:/=+-@".contains(c);
    if key.is_empty() {
        return Some("A tag must have a key".to_owned());
    }
    if key.to_ascii_lowercase().starts_with("aws:") {
        return Some(format!("Tag keys must not begin with 'aws:': '{key}'"));
    }
    // A URL has more than these; what is wrong with a setting is said where it is known what it is for.
    let checked = if tag_settings::is_own(key) { [key, ""] } else { [key, value] };
    let wrong = checked.into_iter().find(|text| !text.chars().all(allowed))?;
    Some(format!(
        "Tags may only contain letters, digits, white space, or these symbols: _ . : / = + - @: '{wrong}'"
    ))
}

pub(super) fn within_bounds(args: Args<'_>, tags: &Tags, arn: Option<&str>) -> Result<(), Error> {
    if tags.len() <= TAGS_MAX {
        return Ok(());
    }
    // The words are a guess.
    let error = args.error(Name::TooManyTags, format!("A resource has at most {TAGS_MAX} tags"));
    Err(match arn {
        Some(arn) => error.with("resourceName", arn),
        None => error,
    })
}

/// Something that has tags, as it was read.
pub(super) enum Resource {
    Machine(Box<Entry<Machine>>),
    Activity(Entry<Activity>),
}

impl Resource {
    /// What `resourceArn` names: a machine or an activity, not a version, an alias or an execution.
    pub(super) fn find(service: &Service, args: Args<'_>) -> Result<Self, Error> {
        let arn = args.required("resourceArn");
        let parsed = Arn::parse(arn).map_err(|wrong| target::invalid_arn(args, wrong.0))?;
        let found = match parsed.kind {
            Kind::StateMachine { label: None, qualifier: None, .. } => {
                service.machine(arn)?.map(|machine| Self::Machine(Box::new(machine)))
            }
            Kind::Activity { .. } => service.catalog.find(&Activity::key(arn))?.map(Self::Activity),
            _ => None,
        };
        found.ok_or_else(|| target::not_found(args, arn))
    }

    pub(super) fn holder(&self) -> Holder<'_> {
        match self {
            Self::Machine(entry) => Holder::of(&entry.value),
            Self::Activity(_) => Holder::Activity,
        }
    }

    pub(super) fn tags(&mut self) -> &mut Tags {
        match self {
            Self::Machine(entry) => &mut entry.value.tags,
            Self::Activity(entry) => &mut entry.value.tags,
        }
    }

    /// Stores it; `false` if it has changed meanwhile.
    pub(super) async fn store(&mut self, service: &Service) -> Result<bool, Error> {
        let mut change = Change::new();
        match self {
            Self::Machine(entry) => change.touch(entry),
            Self::Activity(entry) => change.replace(entry),
        }
        Ok(service.catalog.commit(change).await?)
    }
}
