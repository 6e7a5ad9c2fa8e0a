//! A trigger: when it is due, what it starts, and what happens if that fails.

use everstep_config::Config;
use everstep_config::model::{
    Format, Http, Missed, OnExhausted, Overlap, Target, Timer, Trigger, TriggerKind,
};
use everstep_schedule::Zone;
use everstep_source::duration::exact;
use serde::Serialize;

use super::function::RetryFacts;

/// Ticks that are listed.
const TICKS: usize = 10;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TriggerFacts {
    pub name: String,
    pub from: String,
    pub kind: String,
    /// Where items come from.
    pub source: String,
    pub target: String,
    pub enabled: bool,
    pub max_backlog: u32,
    /// How it decides what to accept, in words, by name.
    pub rules: Vec<(String, String)>,
    /// The next ticks of a timer.
    pub ticks: Vec<String>,
    /// What is retried; none if its function says that, and is not known.
    pub retry: Option<RetryFacts>,
    pub max_event_age_ms: Option<u64>,
    /// Where what fails for good ends.
    pub ends: Vec<String>,
}

impl TriggerFacts {
    /// With the ticks after a moment.
    #[must_use]
    pub fn new(config: &Config, trigger: &Trigger, after_ms: i64) -> Self {
        let (policy, age) = (config.policy_of(trigger), config.event_age_ms_of(trigger));
        Self {
            name: trigger.name.clone(),
            from: trigger.line.to_string(),
            kind: trigger.kind.name().to_owned(),
            source: source(trigger),
            target: trigger.target.to_string(),
            enabled: trigger.enabled,
            max_backlog: trigger.max_backlog,
            rules: rules(&trigger.kind),
            ticks: ticks(&trigger.kind, after_ms),
            retry: policy.map(|policy| RetryFacts::new(policy, age)),
            max_event_age_ms: age,
            ends: ends(config, trigger),
        }
    }
}

fn source(trigger: &Trigger) -> String {
    match &trigger.kind {
        TriggerKind::Timer(timer) => match timer.schedule.zone() {
            Some(zone) => format!("{} ({zone})", timer.schedule),
            None => timer.schedule.to_string(),
        },
        TriggerKind::Http(_) => format!("POST /triggers/{}", trigger.name),
        TriggerKind::File(folder) => {
            let pattern = folder.pattern.as_ref().map(|pattern| format!(", {pattern}"));
            format!("{}{}", folder.directory.display(), pattern.unwrap_or_default())
        }
    }
}

fn rules(kind: &TriggerKind) -> Vec<(String, String)> {
    let rules: Vec<(&str, String)> = match kind {
        TriggerKind::Timer(timer) => timer_rules(timer),
        TriggerKind::Http(http) => http_rules(http),
        TriggerKind::File(folder) => vec![
            ("Whole", format!("a file that has not changed for {}", exact(folder.stable_ms))),
            ("Done", format!("moved to {}", folder.done.display())),
            ("Failed", format!("moved to {}", folder.failed.display())),
        ],
    };
    rules.into_iter().map(|(name, rule)| (name.to_owned(), rule)).collect()
}

fn timer_rules(timer: &Timer) -> Vec<(&'static str, String)> {
    let missed = match timer.missed {
        Missed::One => "one run for all ticks of an outage, when it is over".to_owned(),
        Missed::Skip => "ticks of an outage do not run".to_owned(),
        Missed::All { limit } => format!("each tick of an outage runs, in order, at most {limit}"),
    };
    let overlap = match timer.overlap {
        Overlap::Coalesce => {
            "a tick waits until the run before it is over; those that come meanwhile are one run"
        }
        Overlap::Skip => "a tick that comes while a run is not over does not run",
        Overlap::Allow => "runs may overlap",
    };
    let mut rules = vec![("Missed", missed), ("Overlap", overlap.to_owned())];
    if timer.run_on_startup {
        rules.push(("On startup", "runs when the server starts".to_owned()));
    }
    rules
}

fn http_rules(http: &Http) -> Vec<(&'static str, String)> {
    let demanded = match (&http.secret, &http.signature) {
        (None, None) => {
            "what the API demands: nothing on loopback, a signature where there are access keys"
                .to_owned()
        }
        (Some(_), None) => "a secret".to_owned(),
        (None, Some(signature)) => format!("a signature in {}", signature.header),
        (Some(_), Some(signature)) => format!("a secret, and a signature in {}", signature.header),
    };
    let body = match http.format {
        Format::Json => "JSON",
        Format::EventGrid => "events of Event Grid, each by its id",
    };
    vec![
        ("Demands", demanded),
        ("Repeated", format!("requests with the same {} are one", http.idempotency_header)),
        ("Body", format!("{body}, at most {} bytes", http.body_bytes_max)),
    ]
}

fn ticks(kind: &TriggerKind, after_ms: i64) -> Vec<String> {
    let TriggerKind::Timer(Timer { schedule, .. }) = kind else { return Vec::new() };
    let utc = Zone::utc();
    let zone = schedule.zone().unwrap_or(&utc);
    let next = |at_ms: &i64| schedule.next_after(*at_ms);
    let ticks = std::iter::successors(schedule.next_after(after_ms), next).take(TICKS);
    ticks.map(|at_ms| zone.shown(at_ms)).collect()
}

fn ends(config: &Config, trigger: &Trigger) -> Vec<String> {
    let exhausted = match &trigger.kind {
        TriggerKind::File(folder) => folder.on_exhausted,
        TriggerKind::Timer(_) | TriggerKind::Http(_) => OnExhausted::DeadLetter,
    };
    let letters = format!("everstep deadletters list --source {}", trigger.name);
    let mut ends = vec![match exhausted {
        OnExhausted::DeadLetter => format!("kept as a dead letter: {letters}"),
        OnExhausted::Block => {
            format!(
                "blocks the trigger until `everstep triggers resume {}`; kept as a dead letter: {letters}",
                trigger.name
            )
        }
        OnExhausted::Skip => "not kept".to_owned(),
    }];
    match &trigger.target {
        Target::StateMachine(name) => {
            let machine = config.state_machine(name);
            ends[0] = format!("an execution that cannot be started is {}", ends[0]);
            let target = machine.and_then(|machine| machine.on_failure.as_ref());
            ends.extend(target.map(|target| format!("an execution that fails → {target}")));
        }
        target => {
            let function = target.function().and_then(|name| config.function(name));
            let targets = function.map(|function| [&function.on_failure, &function.dead_letter]);
            let targets = targets.into_iter().flatten().flatten();
            ends.extend(targets.map(|target| format!("→ {}", target.value)));
        }
    }
    ends
}
