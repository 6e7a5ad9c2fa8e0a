//! What clients of the Lambda Runtime API send, request by request.
//!
//! The official clients are recorded in `tests/recorded`; the ones that are built in must send the same,
//! but for what `differences.rs` lists. `cargo xtask functions` has the official clients and compares them
//! with the recordings too; `UPDATE_EXPECT=1` then writes the recordings anew.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod builtin;
mod cases;
mod client;
mod differences;
mod normal;
mod official;
mod recorder;
mod recording;
