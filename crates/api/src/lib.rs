//! The AWS Step Functions API: what may be said and how it is answered (`protocol`), what each operation
//! does, and the HTTP server that carries it.
//!
//! `protocol` is functions over values and knows of neither an engine nor a network. How tasks that are not
//! activities or executions are run is not known here, nor how signatures are checked.

mod activities;
mod args;
mod arn;
mod callback;
mod catalog;
pub mod definition;
pub mod extension;
mod map_run;
mod nested;
mod operations;
pub mod own;
mod page;
pub mod protocol;
mod removal;
mod runner;
mod sdk;
mod server;
mod service;
mod status_change;
mod test_case;
pub mod test_state;
mod unsupported;

pub use server::{Ailing, Bounds, Listening, Tls, TlsError, serve};
pub use service::{Building, Place, Service};
pub use test_case::TestCases;
pub use unsupported::Unsupported;
