//! `Retry` and `Catch`.

use super::expression::{self, Available};
use super::flow;
use super::machine::SECONDS_MAX;
use super::names::nowhere;
use super::reader::{Close as _, Field, Fields, Misplaced};
use super::state::{Reading, objects};
use everstep_source::nearest;

use crate::diagnostic::InServiceWords as _;
use crate::error_name;
use crate::model::{Catcher, Jitter, QueryLanguage, ResultPath, Retrier};
use crate::rule::Rule;

/// A leap year.
const MAX_DELAY_SECONDS_MAX: u64 = 31_622_400;

const ALONE_AND_LAST: &str = "States.ALL must appear alone and at end of list";

pub(super) fn lower(reading: &Reading<'_, '_>) -> (Vec<Retrier>, Vec<Catcher>) {
    let retry = reading.fields.get("Retry").map(|field| {
        let last = field.node.as_array().map_or(0, <[_]>::len);
        objects(&field, "a retrier", |index, fields| retrier(fields, index + 1 == last))
    });
    let catch = reading.fields.get("Catch").map(|field| {
        let last = field.node.as_array().map_or(0, <[_]>::len);
        objects(&field, "a catcher", |index, fields| catcher(fields, reading, index + 1 == last))
    });
    (retry.unwrap_or_default(), catch.unwrap_or_default())
}

fn retrier(fields: &Fields<'_>, last: bool) -> Retrier {
    let integer =
        |name, bounds| fields.get(name).and_then(|field: Field<'_>| field.integer(bounds));
    let retrier = Retrier {
        span: fields.span,
        comment: fields.string("Comment").map(str::to_owned),
        error_equals: error_equals(fields, last),
        interval_seconds: integer("IntervalSeconds", 1..=SECONDS_MAX).unwrap_or(1),
        max_attempts: integer("MaxAttempts", 0..=SECONDS_MAX).unwrap_or(3),
        backoff_rate: fields
            .get("BackoffRate")
            .and_then(|field| field.number(1.0..=f64::MAX))
            .unwrap_or(2.0),
        max_delay_seconds: integer("MaxDelaySeconds", 1..=MAX_DELAY_SECONDS_MAX),
        jitter: match fields.get("JitterStrategy").and_then(|field| field.one_of(&["NONE", "FULL"]))
        {
            Some("FULL") => Jitter::Full,
            _ => Jitter::None,
        },
    };
    fields.close(|name| {
        let hint = match name {
            "Next" => "a retrier runs the same state again; a catcher leads elsewhere",
            "ResultPath" | "Assign" | "Output" => "catchers have it",
            _ => return None,
        };
        Some(Misplaced::here(hint))
    });
    retrier
}

fn catcher(fields: &Fields<'_>, reading: &Reading<'_, '_>, last: bool) -> Catcher {
    let jsonata = reading.is_jsonata();
    let next = fields.require("Next").map(|field| reading.around.names.resolve(&field));
    let catcher = Catcher {
        span: fields.span,
        comment: fields.string("Comment").map(str::to_owned),
        error_equals: error_equals(fields, last),
        next: next.unwrap_or_else(|| nowhere("")),
        result_path: if jsonata {
            ResultPath::default()
        } else {
            expression::result_path(fields.get("ResultPath"))
        },
        assign: flow::assign(fields, reading.language, Available::ErrorOutput),
        output: if jsonata {
            fields
                .get("Output")
                .and_then(|field| expression::jsonata_template_with(&field, Available::ErrorOutput))
        } else {
            None
        },
    };
    fields.close(|name| misplaced_in_catcher(name, reading.language));
    catcher
}

fn misplaced_in_catcher(name: &str, language: QueryLanguage) -> Option<Misplaced> {
    if let Some(hint) = flow::of_other_language(name, language) {
        return Some(Misplaced::in_language(language, hint));
    }
    let hint = match name {
        "IntervalSeconds" | "MaxAttempts" | "BackoffRate" | "MaxDelaySeconds"
        | "JitterStrategy" => "retriers have it",
        "End" => "a catcher must lead to a state; that state can end the machine",
        _ => return None,
    };
    Some(Misplaced::here(hint))
}

/// "a non-empty array of Strings, which match Error Names"; `States.ALL` alone, and last.
fn error_equals(fields: &Fields<'_>, last: bool) -> Vec<String> {
    let Some(field) = fields.require("ErrorEquals") else {
        return Vec::new();
    };
    let elements = field.filled_elements().unwrap_or_default();
    let alone = elements.len() == 1;
    let mut names = Vec::with_capacity(elements.len());
    for element in elements {
        let Some(name) = element.string() else {
            continue;
        };
        if name == error_name::ALL {
            check_wildcard(&element, &fields.owner, alone, last);
        }
        check_reserved(&element, name);
        names.push(name.to_owned());
    }
    names
}

fn check_wildcard(element: &Field<'_>, owner: &str, alone: bool, last: bool) {
    if !alone {
        element.cx.report(
            element
                .report(
                    Rule::StatesAllNotAlone,
                    "`States.ALL` matches every error: the names beside it change nothing",
                )
                .hint("let it stand alone, in a retrier or catcher of its own")
                .service(ALONE_AND_LAST),
        );
    }
    if !last {
        element.cx.report(
            element
                .report(
                    Rule::StatesAllNotLast,
                    format!(
                        "`States.ALL` matches every error, so no {} behind it is ever used",
                        owner.trim_start_matches("a ")
                    ),
                )
                .hint("move it to the end")
                .service(ALONE_AND_LAST),
        );
    }
}

fn check_reserved(element: &Field<'_>, name: &str) {
    if error_name::is_reserved(name) && !error_name::is_predefined(name) {
        element.cx.report(
            element
                .report(Rule::ReservedErrorName, format!("`{name}` is not an error of the language"))
                .hint("names that begin with `States.` are the language's own: no task can report another")
                .did_you_mean(nearest(name, error_name::PREDEFINED.iter().copied())),
        );
    }
}
