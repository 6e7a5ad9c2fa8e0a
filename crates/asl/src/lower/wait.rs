//! Wait states.

use super::expression;
use super::machine::SECONDS_MAX;
use super::operand::{integer, operand};
use super::state::{Reading, transition};
use crate::diagnostic::InServiceWords as _;
use crate::model::{Kind, Operand, Wait, WaitUntil};
use crate::rule::Rule;
use everstep_source::Diagnostic;

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let fields = &reading.fields;
    if !check_one(reading) {
        check_values(reading);
        let until = WaitUntil::Seconds(Operand::Literal(0));
        return Kind::Wait(Wait { until, transition: transition(reading) });
    }
    let seconds = integer(fields, reading.language, "Seconds", "SecondsPath", 0..=SECONDS_MAX);
    let moment =
        operand(fields, reading.language, "Timestamp", "TimestampPath", expression::timestamp);
    let until = match (seconds, moment) {
        (Some(seconds), _) => WaitUntil::Seconds(seconds),
        (None, Some(moment)) => WaitUntil::Timestamp(moment),
        (None, None) => WaitUntil::Seconds(Operand::Literal(0)),
    };
    Kind::Wait(Wait { until, transition: transition(reading) })
}

/// The values of fields of which there are too many: each may be wrong besides.
fn check_values(reading: &Reading<'_, '_>) {
    if reading.is_jsonata() {
        return;
    }
    let fields = &reading.fields;
    fields.get("Seconds").and_then(|field| field.integer(0..=SECONDS_MAX));
    fields.get("Timestamp").and_then(|field| expression::timestamp(&field));
    for name in ["SecondsPath", "TimestampPath"] {
        fields.get(name).and_then(|field| expression::reference_path(&field));
    }
}

/// "A Wait State MUST contain exactly one of …"
fn check_one(reading: &Reading<'_, '_>) -> bool {
    let fields = &reading.fields;
    let names: &[&'static str] = if reading.is_jsonata() {
        &["Seconds", "Timestamp"]
    } else {
        &["Seconds", "SecondsPath", "Timestamp", "TimestampPath"]
    };
    let present: Vec<&str> =
        names.iter().copied().filter(|name| fields.get(name).is_some()).collect();
    if present.len() == 1 {
        return true;
    }
    let message = if present.is_empty() {
        "a Wait state does not say how long to wait".to_owned()
    } else {
        format!(
            "a Wait state says how long to wait in {} ways: {}",
            present.len(),
            present.join(", ")
        )
    };
    fields.cx.report(
        Diagnostic::new(Rule::WaitDuration, fields.head, fields.at.place(), message)
            .hint(format!("give exactly one of {}", names.join(", ")))
            .service(format!(
                "{} of the following fields: [SecondsPath, Seconds, TimestampPath, Timestamp]",
                if present.is_empty() {
                    "This object should have only one"
                } else {
                    "There should only be one"
                }
            )),
    );
    false
}
