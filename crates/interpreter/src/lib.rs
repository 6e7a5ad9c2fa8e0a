//! The interpreter: `decide` says what happens next, `apply` makes it so.
//!
//! [`Execution::decide`] may evaluate expressions, match errors and choose a retry; everything it
//! decides is an [`Event`], and the only thing that changes an execution is [`Execution::apply`],
//! which cannot fail and evaluates nothing. Recovery is a fold of recorded events.
//!
//! No clock, no randomness, no waiting in here: time and seeds come with the input
//! ([`Occasion`]), and what the world must do is read off the events ([`effect::effects`]).

mod apply;
pub mod aws_history;
mod context;
mod decide;
pub mod effect;
mod execution;
mod fault;
mod flow;
mod held;
mod input;
mod limits;
pub mod map_run;
mod raised;
mod ready;
mod refusal;
mod states;
pub mod test_state;
mod token;
mod turn;

pub use effect::{Effect, effects, undelivered};
pub use everstep_asl::Dialect;
pub use everstep_expr::Stopwatch;
pub use everstep_history::{Attempt, Event, Failure, FailureStage, FrameId, Payload};
pub use execution::{Execution, Program, Status, is_shown};
pub use input::{Identity, Input, Occasion};
pub use limits::Limits;
pub use map_run::{MapRun, Tolerance};
pub use raised::reported_by_code;
pub use refusal::Refusal;
pub use token::{TokenKey, attempt_name, parse_attempt_name};
pub use turn::{Decision, Time, Turn};
