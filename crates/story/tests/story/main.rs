//! Stories of executions that the interpreter has run.

mod handlers;
mod harness;
mod visits;
