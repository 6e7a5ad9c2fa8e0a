//! What stores share that make many batches durable at once: the queue in which batches wait, and the
//! judge of which batches of a group may happen.

mod judge;
mod queue;

pub use judge::{Place, expected, judge};
pub use queue::{Pending, Queue};
