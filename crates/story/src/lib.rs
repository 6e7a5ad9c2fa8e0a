//! What an execution or an invocation did, and why.
//!
//! [`Story`] folds the journal's events into entries: attempts, the retriers and catchers that matched and
//! those that did not, the next try, and what follows if that fails. [`history`] reads the same events back
//! from the history that the AWS API returns, as far as that and the definition determine them; only the
//! journal knows a delay that was drawn at random. [`text`] puts entries into words. Nothing here prints or
//! calls a server.

mod entry;
mod frame;
pub mod history;
pub mod invocation;
mod raised;
mod story;
pub mod text;
pub mod words;

pub use entry::{Entry, Handler, Happened, Otherwise, Problem, Retrier, Verdict};
pub use story::{RunId, Story};
