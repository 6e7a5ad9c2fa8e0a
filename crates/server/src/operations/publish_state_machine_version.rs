//! `PublishStateMachineVersion`: a revision has one version, however often it is published: another
//! description changes nothing.

use everstep_api::protocol::{Error, Name, timestamp};
use serde_json::json;

use super::{Answer, publication, target};
use crate::args::Args;
use crate::catalog::{Change, Settings, Version};
use crate::service::Service;

/// How a request names the revision that has no id.
const INITIAL: &str = "INITIAL";

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    loop {
        let mut machine = target::machine(service, args, args.required("stateMachineArn"))?;
        if machine.value.deleting {
            return Err(target::deleting(args, &machine.value.arn));
        }
        current(args, &machine.value.settings)?;
        let known = machine.value.published.is_some();
        let mut change = Change::new();
        let description = args.text("description");
        let number =
            publication::publish(service, args, &mut machine.value, description, &mut change)?;
        if !known {
            change.touch(&mut machine);
        }
        if !known && !service.catalog.commit(change).await? {
            continue;
        }
        let key = Version::key(&machine.value.arn, number);
        // It may be deleted meanwhile: then the machine has no version of this revision any more.
        let Some(version) = service.catalog.find::<Version>(&key)? else { continue };
        return Ok(json!({
            "stateMachineVersionArn": version.value.arn,
            "creationDate": timestamp(version.value.created_ms),
        }));
    }
}

/// Refuses a request that means another revision.
fn current(args: Args<'_>, settings: &Settings) -> Result<(), Error> {
    let known = if settings.initial { INITIAL } else { &settings.revision_id };
    match args.text("revisionId") {
        Some(given) if given != known => {
            let message = format!(
                "Failed to publish the State Machine version for revision {given}. The current \
                 State Machine revision is {known}."
            );
            Err(args.error(Name::ConflictException, message))
        }
        _ => Ok(()),
    }
}
