//! The server: what each operation of the API does, the service that operations work on, the HTTP server that
//! carries them, the functions beside them, and how all of it is started and stopped.
//!
//! What command lines look like and how problems are shown is not known here.

mod activities;
mod args;
mod callback;
mod catalog;
pub mod definition;
pub mod extension;
mod functions;
mod http;
mod hush;
mod map_run;
mod nested;
mod operations;
pub mod own;
mod page;
mod process;
mod removal;
mod runner;
mod sdk;
mod service;
mod status_change;
mod test_case;
pub mod test_state;
mod unsupported;

pub use functions::SHIM;
pub use http::{Ailing, Bounds, Listening, Tls, TlsError, serve};
pub use process::{Ended, Frontend, Given, Manner, Others, Project, run};
pub use service::{Building, Place, Service};
pub use test_case::TestCases;
pub use unsupported::Unsupported;
