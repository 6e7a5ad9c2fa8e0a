//! SAM's blocks, verbatim: `EventInvokeConfig`, `DeadLetterQueue`, and `Events` with schedules.

use everstep_retry::Policy;
use everstep_schedule::Zone;
use everstep_source::document::Content;

use crate::model::{Missed, Overlap, Target, Timer, Trigger};
use crate::origin::{Given, Origin};
use crate::reader::{Field, Fields, Setting as _};
use crate::rule::Rule;
use crate::target::{Kind, Names};
use crate::trigger;

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

/// `Events: {Nightly: {Type: Schedule, Properties: {Schedule: rate(1 day)}}}`
pub(crate) fn events(field: &Field<'_>, function: &str, names: &Names) -> Vec<Trigger> {
    let Some(fields) = field.settings("`Events`") else { return Vec::new() };
    fields.each().filter_map(|event| one_event(&event, function, names)).collect()
}

/// What a type of events calls its schedule and its zone.
struct Keys {
    schedule: &'static str,
    zone: Option<&'static str>,
}

fn one_event(event: &Field<'_>, function: &str, names: &Names) -> Option<Trigger> {
    let fields = event.settings(format!("event `{}`", event.name))?;
    let kind = fields.require("Type");
    let properties = fields.require("Properties");
    fields.finish_plain();
    let kind = kind?;
    let keys = match kind.plain()? {
        "Schedule" => Keys { schedule: "Schedule", zone: None },
        "ScheduleV2" => {
            Keys { schedule: "ScheduleExpression", zone: Some("ScheduleExpressionTimezone") }
        }
        other => {
            let message = format!("events of type `{other}` are not supported yet");
            let found = kind.report(Rule::NotSupported, message);
            kind.cx.report(found.hint("Schedule and ScheduleV2 are"));
            return None;
        }
    };
    scheduled(event, &properties?, &keys, function, names)
}

fn scheduled(
    event: &Field<'_>,
    properties: &Field<'_>,
    keys: &Keys,
    function: &str,
    names: &Names,
) -> Option<Trigger> {
    let fields = properties.settings("`Properties`")?;
    let zone = match keys.zone.and_then(|key| fields.get(key)) {
        Some(field) => trigger::timer::zone(&field),
        None => Some(Zone::utc()),
    };
    let schedule = fields.require(keys.schedule);
    let schedule = schedule
        .zip(zone)
        .and_then(|(field, zone)| trigger::timer::schedule(&field, field.plain()?, zone));
    let enabled = fields.get("Enabled").map_or(Some(true), |field| field.boolean());
    let states = [("ENABLED", true), ("DISABLED", false)];
    let state = fields.get("State").map_or(Some(true), |field| field.word(&states));
    let input = fields.get("Input").map(|field| input(&field));
    let name = fields.get("Name").map(|field| field.plain().map(str::to_owned));
    fields.get("Description");
    for ignored in ["RetryPolicy", "DeadLetterConfig", "FlexibleTimeWindow", "RoleArn"] {
        if let Some(field) = fields.get(ignored) {
            let message = format!("`{ignored}` of a schedule has no effect here");
            let found = field.at_name(Rule::IgnoredSetting, message);
            field.cx.report(found.hint("the retries and destinations of the function apply"));
        }
    }
    fields.finish_plain();
    let name = name.unwrap_or_else(|| Some(format!("{function}-{}", event.name)))?;
    if !names.derive(Kind::Trigger, &name, event) {
        return None;
    }
    let timer = Timer {
        schedule: schedule?,
        missed: Missed::default(),
        // EventBridge starts a run whether the one before is over or not.
        overlap: Overlap::Allow,
        run_on_startup: false,
        input: input.map_or(Some(None), |input| input.map(Some))?,
    };
    let enabled = enabled? && state?;
    Some(Trigger { enabled, ..trigger::of_function(name, function, event, timer) })
}

/// JSON, in a text.
fn input(field: &Field<'_>) -> Option<String> {
    let text = match &field.node.content {
        Content::String(_) => field.string()?.to_owned(),
        _ => field.node.to_value().to_string(),
    };
    if serde_json::from_str::<serde_json::Value>(&text).is_err() {
        let found = field.report(Rule::UnknownValue, "`Input` is not JSON");
        field.cx.report(found.hint("write JSON in a text, such as '{\"full\":true}'"));
        return None;
    }
    Some(text)
}
