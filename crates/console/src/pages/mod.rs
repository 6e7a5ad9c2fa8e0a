//! One module for each page: what it is given, and the page.

pub mod about;
pub mod dead_letters;
pub mod execution;
pub mod executions;
pub mod functions;
pub mod invocations;
pub mod machines;
pub mod message;
pub mod overview;
