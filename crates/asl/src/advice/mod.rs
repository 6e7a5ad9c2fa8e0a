//! Advice: definitions that run, but perhaps not as their author thinks. One file for each rule.
//!
//! Advice looks at the model only and never refuses a definition.

mod business_error_retried;
mod catch_discards_input;
mod choice_without_default;
mod compensation_without_retry;
mod fail_without_error;
mod lambda_errors_not_retried;
mod loop_without_exit;
mod reach;
mod retry_outlasts_timeout;
mod task_failed_excludes_timeout;
mod task_without_timeout;
mod unreachable_handlers;
mod unreachable_state;

use std::collections::HashSet;

use crate::lower::Cx;
use crate::model::Machine;
use everstep_source::Diagnostic;

/// What a rule does with what it finds.
type Report<'r> = &'r mut dyn FnMut(Diagnostic);

pub(crate) fn check(cx: &Cx<'_>, machine: &Machine) {
    // The service looks at transitions only where the shape of the definition is right.
    let shape_is_wrong = cx.has_schema_errors();
    let errors = Errors::new(cx.error_places());
    let report: Report<'_> = &mut |mut diagnostic| {
        if !follows(&diagnostic, &errors) {
            if shape_is_wrong {
                diagnostic.service = None;
            }
            cx.report(diagnostic);
        }
    };
    business_error_retried::check(machine, report);
    catch_discards_input::check(machine, report);
    choice_without_default::check(machine, report);
    compensation_without_retry::check(machine, report);
    fail_without_error::check(machine, report);
    lambda_errors_not_retried::check(machine, report);
    loop_without_exit::check(machine, report);
    retry_outlasts_timeout::check(machine, report);
    task_failed_excludes_timeout::check(machine, report);
    task_without_timeout::check(machine, report);
    unreachable_handlers::check(machine, report);
    unreachable_state::check(machine, report);
}

/// Whether advice only follows from an error: where a state has one, the model holds stand-ins.
fn follows(advice: &Diagnostic, errors: &Errors) -> bool {
    let place = &advice.place.pointer;
    // What the service calls an error is said even beside another one.
    if advice.service.is_some() {
        return errors.at.contains(place);
    }
    errors.within.contains(state_of(place))
}

/// Where errors are, to be asked for every advice: there may be thousands of both.
struct Errors {
    at: HashSet<String>,
    /// Every place that has an error at it or inside.
    within: HashSet<String>,
}

impl Errors {
    fn new(places: Vec<String>) -> Self {
        let mut within = HashSet::new();
        for place in &places {
            let ends = place.match_indices('/').map(|(end, _)| end).chain([place.len()]);
            within.extend(ends.map(|end| place[..end].to_owned()));
        }
        Self { at: places.into_iter().collect(), within }
    }
}

/// The innermost state that a pointer leads into.
fn state_of(pointer: &str) -> &str {
    const STATES: &str = "/States/";
    let Some(at) = pointer.rfind(STATES) else { return pointer };
    let name = at + STATES.len();
    let end = pointer[name..].find('/').map_or(pointer.len(), |end| name + end);
    &pointer[..end]
}
