//! How messages reach the shards from inside an engine.

/// Takes messages for shards. Never waits and never refuses for want of room: what shards send to each
/// other, and what comes back from outside, is bounded by what they have taken on.
pub trait Mailbox<M>: Send + Sync {
    fn post(&self, message: M);
}
