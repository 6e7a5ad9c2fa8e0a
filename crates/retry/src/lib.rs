//! Retry policies: which failure is retried, how often, and after how long.
//!
//! One engine for the `Retry` of a state, Azure's policies and Lambda's asynchronous invocations. Pure:
//! counters, time and randomness are given by the caller, which keeps them. Knows nothing of states,
//! functions or stores.

mod class;
mod delay;
pub mod error_name;
mod policy;

pub use class::Class;
pub use delay::{Delay, Jitter};
pub use policy::{Policy, Rule, Verdict};
