//! Timers: `schedule` or `every`, and what becomes of ticks that nobody was there for.

use everstep_schedule::{EVERY_MS_MIN, Invalid, Schedule, Zone};
use everstep_source::document::Content;
use everstep_source::{duration, nearest};

use super::model::{Missed, Overlap, Timer};
use crate::reader::{Field, Fields, Setting as _};
use crate::rule::Rule;

/// Ticks that are run for one outage, by default and at most.
const MISSED: u32 = 100;
const MISSED_MAX: u32 = 1000;

pub(super) fn timer(fields: &Fields<'_>) -> Option<Timer> {
    fields.exclude("schedule", "every");
    let zone = fields.get("timezone").map_or(Some(Zone::utc()), |field| zone(&field));
    let schedule = match (fields.get("every"), fields.get("schedule")) {
        (Some(field), _) => every(&field),
        (None, Some(field)) => zone.and_then(|zone| schedule(&field, field.plain()?, zone)),
        (None, None) => {
            let found = fields.missing(&["schedule"]);
            fields.cx.report(found.hint("or write an interval: `every: 5m`"));
            None
        }
    };
    let missed = fields.get("missed").map_or(Some(Missed::One), |field| missed(&field));
    let overlap =
        fields.get("overlap").map_or(Some(Overlap::default()), |field| field.word(OVERLAPS));
    let run_on_startup = fields.get("runOnStartup").map_or(Some(false), |field| field.boolean());
    let input = fields.get("input").map(|field| field.node.to_value().to_string());
    Some(Timer {
        schedule: schedule?,
        missed: missed?,
        overlap: overlap?,
        run_on_startup: run_on_startup?,
        input,
    })
}

const OVERLAPS: &[(&str, Overlap)] =
    &[("coalesce", Overlap::Coalesce), ("skip", Overlap::Skip), ("allow", Overlap::Allow)];

pub(crate) fn zone(field: &Field<'_>) -> Option<Zone> {
    let name = field.plain()?;
    match Zone::named(name) {
        Ok(zone) => Some(zone),
        Err(Invalid { message, hint }) => {
            let names = Zone::names();
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map(|near| format!("did you mean `{near}`?")).or(hint);
            refuse(field, message, hint);
            None
        }
    }
}

/// An expression, or an interval as Azure writes it.
pub(crate) fn schedule(field: &Field<'_>, written: &str, zone: Zone) -> Option<Schedule> {
    if written.contains(':') && !written.contains(' ') {
        return interval(field, written);
    }
    match Schedule::parse(written, zone) {
        Ok(schedule) => {
            if schedule.names_both_days() {
                let message = format!(
                    "`{written}` is due on days that match both the day of the month and the day of the week"
                );
                let found = field.report(Rule::BothDays, message);
                field.cx.report(
                    found.hint("crontab takes days that match either: write two triggers for that"),
                );
            }
            Some(schedule)
        }
        Err(Invalid { message, hint }) => {
            refuse(field, message, hint);
            None
        }
    }
}

fn interval(field: &Field<'_>, written: &str) -> Option<Schedule> {
    match duration::parse(written) {
        Ok(ms) => of_ms(field, ms),
        Err(duration::Invalid { hint }) => {
            refuse(field, format!("invalid interval `{written}`"), Some(hint));
            None
        }
    }
}

fn every(field: &Field<'_>) -> Option<Schedule> {
    of_ms(field, field.duration()?)
}

fn of_ms(field: &Field<'_>, ms: u64) -> Option<Schedule> {
    match Schedule::every(ms) {
        Ok(schedule) => Some(schedule),
        Err(invalid) => {
            let found = field.report(Rule::OutOfRange, invalid.message);
            field.cx.report(found.hint(format!("write {} s or more", EVERY_MS_MIN / 1000)));
            None
        }
    }
}

fn refuse(field: &Field<'_>, message: String, hint: Option<String>) {
    let found = field.report(Rule::InvalidSchedule, message);
    field.cx.report(match hint {
        Some(hint) => found.hint(hint),
        None => found,
    });
}

/// `one`, `skip`, `all`, or `{ all: 500 }`.
fn missed(field: &Field<'_>) -> Option<Missed> {
    if matches!(field.node.content, Content::Object(_)) {
        let fields = field.settings("`missed`")?;
        let limit = fields.require("all").and_then(|field| field.integer(1..=MISSED_MAX));
        fields.finish_plain();
        return limit.map(|limit| Missed::All { limit });
    }
    let words =
        [("one", Missed::One), ("skip", Missed::Skip), ("all", Missed::All { limit: MISSED })];
    field.word(&words)
}
