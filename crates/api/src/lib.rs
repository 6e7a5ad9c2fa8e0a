//! The wire of the AWS Step Functions API: requests, answers and errors (`protocol`), and ARNs (`arn`).
//!
//! Functions over values. It knows no engine, no store and no network, nor what an operation does.

pub mod arn;
pub mod protocol;
