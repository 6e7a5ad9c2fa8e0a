//! Drivers: what executions ask of this service itself, as machines without I/O.
//!
//! A driver takes an input and the time and returns requests. It reads no clock, waits for nothing, holds no lock
//! and knows no store: whoever runs it, the server or the simulation, performs its requests and feeds it the answers.
//! What a driver knows beyond that is derived from stored rows, which are handed to it. So a crash is simple: the
//! driver is dropped, and a new one is built from the rows.
//!
//! - [`map_run`]: the child executions of a distributed Map;
//! - [`nested`]: tasks that call this service, such as executions that start executions;
//! - [`activities`]: tasks that wait for workers;
//! - [`callback`]: tasks that wait for their token;
//! - [`removal`]: state machines that are being deleted.
//!
//! `docs/design/drivers.md` describes each with its inputs, requests and invariants.

pub mod activities;
pub mod callback;
#[cfg(test)]
mod dice;
pub mod map_run;
pub mod nested;
pub mod removal;
