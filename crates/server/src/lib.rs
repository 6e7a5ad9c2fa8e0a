//! The server: what each operation of the API does, the service that operations work on, the HTTP server that
//! carries them, the functions beside them, and how all of it is started and stopped.
//!
//! What command lines look like and how problems are shown is not known here.

mod activities;
mod args;
mod catalog;
pub mod definition;
mod dispatch;
mod functions;
mod http;
mod map_run;
mod nested;
mod operations;
mod page_token;
mod pause;
mod process;
mod rate_limit;
mod removal;
mod sdk;
mod service;
mod status_change;
pub mod tag_settings;
mod test_case;
pub mod test_state;
mod unsupported;

pub use dispatch::{Notifier, TaskObserver};
pub use functions::{Functions, SHIM};
pub use http::{Bounds, Options as HttpOptions, Tls, TlsError, serve};
pub use process::{Ended, Error, Frontend, Given, Mode, Others, Project, run};
pub use service::{Parts, Place, Service};
pub use test_case::TestCases;
pub use unsupported::Unsupported;
