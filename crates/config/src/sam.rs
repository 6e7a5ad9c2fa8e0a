//! SAM's blocks, verbatim: `EventInvokeConfig` and `DeadLetterQueue`.

use everstep_retry::Policy;

use crate::model::Target;
use crate::origin::{Given, Origin};
use crate::reader::{Field, Fields, Setting as _};
use crate::rule::Rule;
use crate::target::Names;

/// What a block says; what it leaves out is somebody else's to say.
#[derive(Default)]
pub(crate) struct EventInvokeConfig {
    pub(crate) policy: Option<Given<Policy>>,
    pub(crate) max_event_age_ms: Option<Given<u64>>,
    pub(crate) on_success: Option<Given<Target>>,
    pub(crate) on_failure: Option<Given<Target>>,
}

const RETRIES_MAX: u32 = 2;
const AGE_SECONDS: std::ops::RangeInclusive<u32> = 60..=21_600;

pub(crate) fn event_invoke_config(field: &Field<'_>, names: &Names) -> EventInvokeConfig {
    let Some(fields) = field.settings("`EventInvokeConfig`") else {
        return EventInvokeConfig::default();
    };
    let policy = fields.get("MaximumRetryAttempts").and_then(|field| {
        let retries = field.count(0)?;
        if retries > RETRIES_MAX {
            beyond(&field, "AWS allows at most 2 retries", "`retry` has no limit");
        }
        Some(given(&field, Policy::lambda(retries)))
    });
    let max_event_age_ms = fields.get("MaximumEventAgeInSeconds").and_then(|field| {
        let seconds = field.count(1)?;
        if !AGE_SECONDS.contains(&seconds) {
            beyond(&field, "AWS allows 60 to 21600 seconds", "`maxEventAge` takes any duration");
        }
        Some(given(&field, u64::from(seconds) * 1000))
    });
    let (on_success, on_failure) = match fields.get("DestinationConfig") {
        Some(field) => destinations(&field, names),
        None => (None, None),
    };
    fields.finish(|name| {
        (name == "Qualifier").then(|| "there are no versions and aliases here".to_owned())
    });
    EventInvokeConfig { policy, max_event_age_ms, on_success, on_failure }
}

fn given<T>(field: &Field<'_>, value: T) -> Given<T> {
    Given { value, origin: Origin::EventInvokeConfig(field.line()) }
}

fn beyond(field: &Field<'_>, message: &str, hint: &str) {
    let found = field.report(Rule::BeyondService, message).hint(hint);
    field.report_beyond_service(found);
}

type Pair = (Option<Given<Target>>, Option<Given<Target>>);

fn destinations(field: &Field<'_>, names: &Names) -> Pair {
    let Some(fields) = field.settings("`DestinationConfig`") else { return (None, None) };
    let read = |name| {
        let field: Field<'_> = fields.get(name)?;
        let inner = field.settings(format!("`{name}`"))?;
        destination(&inner, "Destination", names)
    };
    let pair = (read("OnSuccess"), read("OnFailure"));
    fields.finish_plain();
    pair
}

fn destination(fields: &Fields<'_>, key: &'static str, names: &Names) -> Option<Given<Target>> {
    let kind = fields.get("Type").map(|field| field.word(&[("SQS", ()), ("Lambda", ())]));
    let field = fields.require(key);
    fields.finish_plain();
    if kind == Some(None) {
        return None;
    }
    let field = field?;
    names.target(&field).map(|target| given(&field, target))
}

/// `DeadLetterQueue: {Type: SQS, TargetArn: …}`
pub(crate) fn dead_letter_queue(field: &Field<'_>, names: &Names) -> Option<Given<Target>> {
    let fields = field.settings("`DeadLetterQueue`")?;
    let found = destination(&fields, "TargetArn", names)?;
    Some(Given { origin: Origin::Own(field.line()), ..found })
}
