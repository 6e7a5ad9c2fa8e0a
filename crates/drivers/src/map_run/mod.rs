//! Map Runs: the child executions of a distributed Map.
//!
//! A child is named after its Map Run and its index among the inputs, so it is found again after a crash or a redrive.
//! The outcome of a STANDARD child is stored in the child itself. Nothing of an EXPRESS child is stored, so its outcome
//! is noted beside the parent before it counts. The parent's own history has the start and the end of the run, and
//! nothing of its children.
//!
//! - `driver`: runs the children; [`Input`] and [`Request`] are all that it takes and asks for;
//! - `abort`: ends a run that was cancelled and has no driver;
//! - `child`: one child, and how its outcome is noted;
//! - `family`: how the children of a run are named and started;
//! - `outputs`: the outputs of the children, within a bound;
//! - `record`: the rows of a run;
//! - `tally`: how many children and items have which status;
//! - `read`: what the store has of a run.

mod abort;
mod child;
mod driver;
mod family;
mod outputs;
mod read;
mod record;
mod tally;
#[cfg(test)]
mod tests;

pub use abort::{Abort, AbortInput, AbortRequest};
pub use child::{Outcome, SavedOutcome, Seen};
pub use driver::{Busy, CHILDREN_MAX, Driver, Input, Plan, Refusal, Request, Stored};
pub use family::{Family, ITEMS, MAP_RUN, item_counts, map_state};
pub use outputs::OUTPUT_BYTES_MAX;
pub use read::{
    Found, child, children, find, of_execution, record_of, running, settings_of, survey,
};
pub use record::{Record, Settings, Status, settings_note};
pub use tally::{Place, Tallies, Tally};
