//! What an execution or an invocation did, and why.
//!
//! [`Story`] folds the journal's events into entries: attempts, the retriers and catchers that matched and
//! those that did not, the next try, and what follows if that fails; and into visits of states. [`Report`] sums an
//! execution up. [`text`] puts all that into words; [`history`] reads events of the history that the AWS API returns.
//! Nothing here prints or calls a server.

pub mod action;
mod entry;
mod frame;
pub mod history;
pub mod invocation;
mod raised;
mod report;
mod story;
pub mod text;
mod visit;
pub mod words;

pub use entry::{Entry, Handler, Happened, Otherwise, Problem, Retrier, Verdict};
pub use report::{Activity, Doing, Excerpt, Report, Standing};
pub use story::{RunId, Story};
pub use visit::{Attempt, EventPlace, Outcome, Visit};
