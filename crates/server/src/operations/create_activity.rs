//! `CreateActivity`: one of that name is found again, whatever its tags.

use everstep_api::arn::name_problem;
use everstep_api::protocol::{Name, timestamp};
use serde_json::{Value, json};

use super::{Answer, configuration, tags};
use crate::args::Args;
use crate::catalog::{Activity, Change};
use crate::service::Service;
use crate::tag_settings::{self, Holder};

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let name = args.required("name");
    if name_problem(name).is_some() {
        return Err(args.error(Name::InvalidName, format!("Invalid Name: '{name}'")));
    }
    let wanted = Activity {
        arn: service.arn(&format!("activity:{name}")),
        name: name.to_owned(),
        created_ms: service.now_ms(),
        encryption: configuration::encryption(args)?,
        tags: tags::read(args)?,
    };
    tag_settings::check(service, Holder::Activity, &wanted.tags)?;
    let key = Activity::key(&wanted.arn);
    loop {
        if let Some(known) = service.catalog.find::<Activity>(&key)? {
            return repeated(args, &wanted, &known.value);
        }
        let mut change = Change::new();
        change.add(&key, &wanted);
        if service.catalog.commit(change).await? {
            return Ok(answer(&wanted));
        }
    }
}

fn repeated(args: Args<'_>, wanted: &Activity, known: &Activity) -> Answer {
    if wanted.encryption == known.encryption {
        return Ok(answer(known));
    }
    let message = format!("Activity Already Exists: '{}'", known.arn);
    Err(args.error(Name::ActivityAlreadyExists, message))
}

fn answer(activity: &Activity) -> Value {
    json!({ "activityArn": activity.arn, "creationDate": timestamp(activity.created_ms) })
}
