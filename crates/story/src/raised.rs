//! A recorded failure, as the retriers and catchers of its state see it.

use everstep_asl::error_name::{self, DATA_LIMIT_EXCEEDED, TOO_MANY_FAILURES};
use everstep_asl::handling::{Origin, Raised};
use everstep_asl::model::{Kind, Resource, State};
use everstep_interpreter::Failure;

/// `inner` is the origin of a failure that came out of a branch or an item.
pub(crate) fn raised<'f>(
    failure: &'f Failure,
    state: &State,
    missed_heartbeat: bool,
    inner: Option<Origin>,
) -> Raised<'f> {
    let name = failure.name();
    let crash = || error_name::reported_crash(name, failure.cause.as_deref());
    let origin = match (&state.kind, inner) {
        // A Map's own name for the failures of its items.
        (_, Some(_)) if name == TOO_MANY_FAILURES => Origin::Named,
        (_, Some(inner)) => Raised { name, origin: inner }.outside().origin,
        (Kind::Task(_), None) if missed_heartbeat => Origin::MissedHeartbeat,
        (Kind::Task(task), None) => match &*task.resource {
            _ if name == DATA_LIMIT_EXCEEDED => Origin::OversizedResult,
            // A worker chooses its error names itself.
            Resource::Activity { .. } => Origin::Named,
            _ => crash().map_or(Origin::Named, Origin::Crash),
        },
        (_, None) => Origin::Named,
    };
    Raised { name, origin }
}
