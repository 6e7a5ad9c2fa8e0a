//! The triggers of a configuration, as drivers take them.

use std::sync::Arc;

use everstep_config::Config;
use everstep_config::model as config;
use everstep_invocations::{Handling, SourceKind};
use everstep_triggers::{Ack, Missed, OnExhausted, Origin, Overlap, Place, Plan, Timer};

use super::folder::{Folder, Places};
use super::source::Source;
use crate::functions::function_of;

/// The largest event: that of an invocation.
const ITEM_BYTES_MAX: usize = 6 << 20;

/// A trigger that can be started.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    pub(crate) described: Described,
    /// Whether it starts a state machine.
    pub(super) starts_executions: bool,
    pub(super) kind: Kind,
}

/// What a kind needs besides the plan.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Timer,
    Http(config::Http),
    File(Places),
}

/// What callers of the API see of a trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Described {
    pub(crate) kind: &'static str,
    pub(crate) target: String,
    /// A schedule, a path, a folder.
    pub(crate) from: String,
    pub(crate) zone: Option<String>,
}

impl Planned {
    /// Whether nothing need be done about it.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let plan = Plan { is_startup: self.plan.is_startup, ..other.plan.clone() };
        self.plan == plan && self.kind == other.kind && self.described == other.described
    }

    pub(super) fn source(&self) -> Option<Arc<dyn Source>> {
        match &self.kind {
            Kind::Timer | Kind::Http(_) => None,
            Kind::File(places) => Some(Arc::new(Folder::new(&self.plan.name, places.clone()))),
        }
    }

    pub(super) fn http(&self) -> Option<&config::Http> {
        match &self.kind {
            Kind::Http(http) => Some(http),
            Kind::Timer | Kind::File(_) => None,
        }
    }
}

/// All triggers of a configuration. Delays before retries are scaled by so many millionths.
pub(crate) fn plans(config: &Config, place: &Place, scale_millionths: u64) -> Vec<Planned> {
    let plan = |trigger: &config::Trigger| planned(config, trigger, place, scale_millionths);
    config.triggers.iter().map(plan).collect()
}

fn planned(
    config: &Config,
    trigger: &config::Trigger,
    place: &Place,
    scale_millionths: u64,
) -> Planned {
    let (kind, own) = match &trigger.kind {
        config::TriggerKind::Timer(_) => (SourceKind::Timer, Kind::Timer),
        config::TriggerKind::Http(http) => (SourceKind::Http, Kind::Http(http.clone())),
        config::TriggerKind::File(folder) => (SourceKind::File, Kind::File(Places::of(folder))),
    };
    let on_exhausted = on_exhausted(&trigger.kind);
    let plan = Plan {
        name: trigger.name.clone(),
        partition: None,
        kind,
        origin: origin(&trigger.kind),
        function: function(&trigger.target),
        execution_name: trigger.execution_name.clone(),
        handling: handling(config, trigger, on_exhausted, scale_millionths),
        ack: match trigger.kind {
            config::TriggerKind::File(_) => Ack::OnComplete,
            config::TriggerKind::Timer(_) | config::TriggerKind::Http(_) => Ack::OnAccept,
        },
        on_exhausted,
        in_order: false,
        backlog_max: trigger.max_backlog as usize,
        item_bytes_max: ITEM_BYTES_MAX,
        enabled: trigger.enabled,
        is_startup: true,
        place: place.clone(),
    };
    let starts_executions = matches!(trigger.target, config::Target::StateMachine(_));
    Planned { plan, described: described(trigger), starts_executions, kind: own }
}

fn function(target: &config::Target) -> String {
    match target {
        config::Target::StateMachine(name) => function_of(name),
        other => other.function().unwrap_or_default().to_owned(),
    }
}

fn origin(kind: &config::TriggerKind) -> Origin {
    match kind {
        config::TriggerKind::Timer(timer) => Origin::Timer(Box::new(Timer {
            schedule: timer.schedule.clone(),
            missed: match timer.missed {
                config::Missed::One => Missed::One,
                config::Missed::Skip => Missed::Skip,
                config::Missed::All { limit } => Missed::All { limit },
            },
            overlap: match timer.overlap {
                config::Overlap::Coalesce => Overlap::Coalesce,
                config::Overlap::Skip => Overlap::Skip,
                config::Overlap::Allow => Overlap::Allow,
            },
            run_on_startup: timer.run_on_startup,
            input: timer.input.clone().map(String::into_bytes),
        })),
        config::TriggerKind::Http(_) => Origin::Offered,
        config::TriggerKind::File(folder) => {
            Origin::Fetched { idle_ms: i64::try_from(folder.interval_ms).unwrap_or(i64::MAX) }
        }
    }
}

fn on_exhausted(kind: &config::TriggerKind) -> OnExhausted {
    match kind {
        config::TriggerKind::File(folder) => match folder.on_exhausted {
            config::OnExhausted::DeadLetter => OnExhausted::DeadLetter,
            config::OnExhausted::Block => OnExhausted::Block,
            config::OnExhausted::Skip => OnExhausted::Skip,
        },
        config::TriggerKind::Timer(_) | config::TriggerKind::Http(_) => OnExhausted::DeadLetter,
    }
}

/// What the trigger says about failures, where it says more than its function.
fn handling(
    config: &Config,
    trigger: &config::Trigger,
    on_exhausted: OnExhausted,
    scale_millionths: u64,
) -> Option<Handling> {
    let skips = on_exhausted == OnExhausted::Skip;
    if trigger.policy.is_none() && trigger.max_event_age_ms.is_none() && !skips {
        return None;
    }
    Some(Handling {
        policy: config.policy_of(trigger)?.value.scaled(scale_millionths),
        event_age_max_ms: config.event_age_ms_of(trigger),
        dead_letters: !skips,
    })
}

fn described(trigger: &config::Trigger) -> Described {
    let (from, zone) = match &trigger.kind {
        config::TriggerKind::Timer(timer) => {
            let zone = timer.schedule.zone().map(|zone| zone.name().to_owned());
            (timer.schedule.to_string(), zone)
        }
        config::TriggerKind::Http(_) => (format!("POST /triggers/{}", trigger.name), None),
        config::TriggerKind::File(folder) => (folder.directory.display().to_string(), None),
    };
    Described { kind: trigger.kind.name(), target: trigger.target.to_string(), from, zone }
}
