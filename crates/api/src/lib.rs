//! The AWS Step Functions API, as far as it needs neither an engine nor a network: what may be said
//! and how it is answered (`protocol`), and who may say it (`access`).
//!
//! Both are functions over values. Which HTTP server carries the bytes, and what an operation does,
//! is not known here.

pub mod access;
pub mod protocol;
