//! Where records of invocations go that are not functions.

use std::sync::Arc;

use crate::id::InvocationId;
use everstep_target::Target;

/// Delivers records: to a queue, a state machine, a URL, a file. Functions are not asked of it.
pub trait Destinations: Send + Sync {
    /// Called when the record's row is durable, and again after a failure or a crash until `done(Ok)` is:
    /// so the same delivery may come twice, each time with the same id. Must be short and must not wait.
    fn deliver(&self, delivery: Delivery, done: Delivered);

    /// The largest record that a destination can take, if there is one.
    fn record_bytes_max(&self, _target: &Target) -> Option<usize> {
        None
    }
}

/// What became of a delivery; the text says why not. If it is dropped uncalled, the delivery is made again
/// after the next start.
pub type Delivered = Box<dyn FnOnce(Result<(), String>) + Send>;

#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The same each time, so that receivers can drop duplicates.
    pub id: InvocationId,
    pub target: Target,
    /// The invocation that is over.
    pub invocation: InvocationId,
    pub function: String,
    /// AWS's record of an asynchronous invocation, as JSON text.
    pub record: Arc<[u8]>,
    /// The same without the event and the answer, for destinations that cannot take these.
    pub bare: Arc<[u8]>,
}
