//! One execution in this process, without a server: what `everstep run` does.
//!
//! [`Driver`] lets the interpreter decide and does what it asks for. [`Answers`] finds what answers a task: a
//! mocked response, or a command that stands for a function. [`Clock`] is the machine's time, or one that
//! skips waits. Nothing here prints: an [`Observer`] receives what happens. What a state does is up to the
//! interpreter alone.

mod answer;
mod clock;
mod driver;
mod error;
mod function;
mod map_run;
pub mod mock;

pub use answer::{Answers, Function};
pub use clock::Clock;
pub use driver::{Driver, Ended, Observer, Wake};
pub use error::Error;
