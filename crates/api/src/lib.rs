//! The wire of the AWS Step Functions API: what may be asked and how it is answered (`protocol`), and the
//! names of things (`arn`).
//!
//! Functions over values. No engine, no store and no network is known here, nor what an operation does.

pub mod arn;
pub mod protocol;
