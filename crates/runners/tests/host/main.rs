//! Functions in real processes: what well-behaved code, failing code and hostile code get.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod command;
mod executions;
mod fixture;
mod hostile;
mod http;
mod node;
mod official;
mod orphans;
mod python;
mod receipts;
mod strangers;
mod tasks;
mod workers;
