//! Engines that are killed: real processes, a real store on a real disk, and a witness outside both.
//!
//! The binary `engine-under-test` runs one engine and takes requests on standard input
//! ([`protocol`]). Its tasks write what they do to a file of their own ([`witness`]), so that what the
//! engine says of itself can be held against what happened ([`check`]). [`driver`] starts it, gives it work
//! ([`machines`]) and kills it. Only tests and benchmarks use this crate.

pub mod check;
pub mod child;
pub mod driver;
pub mod harness;
pub mod load;
pub mod machines;
pub mod protocol;
pub mod witness;
