//! `everstep run`: one execution in this process, told as it happens.
//!
//! [`driver`] lets the interpreter decide and does what it asks for; [`answer`] finds what answers
//! a task, a mocked response or a command; [`story`] reads off the events what a user wants to
//! know, and [`teller`] writes it. What a state does is the interpreter's alone.

pub(crate) mod answer;
pub(crate) mod clock;
pub(crate) mod driver;
pub(crate) mod entry;
mod frame;
mod function;
pub(crate) mod mock;
pub(crate) mod mock_file;
pub(crate) mod report;
pub(crate) mod story;
pub(crate) mod teller;
pub(crate) mod words;
