//! Versions as requests ask for them: numbered from 1, one for each revision, no number twice.

use everstep_api::protocol::{Error, Name};

use crate::args::Args;
use crate::catalog::{Change, Machine, Publication, Version};
use crate::service::Service;

/// As many as a machine may have.
const VERSIONS_MAX: u32 = 1000;

/// What a request says about a version.
pub(super) fn read(args: Args<'_>) -> Result<Publication, Error> {
    let publish = args.flag("publish");
    let description = args.text("versionDescription").map(str::to_owned);
    if description.is_some() && !publish {
        let message = "Version description can only be set when publish is true";
        return Err(args.error(Name::ValidationException, message));
    }
    Ok(Publication { publish, description })
}

pub(super) fn version_arn(machine_arn: &str, number: u32) -> String {
    format!("{machine_arn}:{number}")
}

/// The number of the version that is as the machine is now, which is made if there is none: the machine
/// must be written with the change.
pub(super) fn publish(
    service: &Service,
    args: Args<'_>,
    machine: &mut Machine,
    description: Option<&str>,
    change: &mut Change,
) -> Result<u32, Error> {
    if let Some(number) = machine.published {
        return Ok(number);
    }
    if machine.versions >= VERSIONS_MAX {
        let message =
            format!("The state machine has {VERSIONS_MAX} versions: delete one to publish another");
        return Err(args.error(Name::ServiceQuotaExceededException, message));
    }
    let number = machine.last_version + 1;
    let version = Version {
        arn: version_arn(&machine.arn, number),
        number,
        description: description.map(str::to_owned),
        created_ms: service.now_ms(),
        settings: machine.settings.clone(),
    };
    change.add(&Version::key(&machine.arn, number), &version);
    machine.last_version = number;
    machine.versions += 1;
    machine.published = Some(number);
    Ok(number)
}

/// Whether nothing needs a definition of a machine any more.
pub(super) fn is_unused(
    service: &Service,
    machine: &Machine,
    digest: &str,
    except: Option<u32>,
) -> Result<bool, Error> {
    if machine.settings.definition == digest || machine.previous.as_deref() == Some(digest) {
        return Ok(false);
    }
    let versions = service.catalog.all::<Version>(&Version::prefix(&machine.arn))?;
    let mut others = versions.iter().filter(|version| Some(version.value.number) != except);
    Ok(!others.any(|version| version.value.settings.definition == digest))
}
