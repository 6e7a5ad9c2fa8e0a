//! The server: where the engines meet the wire.
//!
//! - `http`: connections, requests, authentication;
//! - `operations`: what each operation of the API does, on a `Service`;
//! - `dispatch`: who runs a task; `map_run`, `nested`, `activities` and `removal` run the machines of the crate
//!   `drivers`;
//! - `functions`: functions and their invocations;
//! - `queues`: queues, and the operations of Amazon SQS on them;
//! - `process`: the server as a process: settings, start, reload, shutdown.
//!
//! It knows nothing of command lines, nor of how problems are shown: a `Frontend` does that.

mod activities;
mod admission;
mod args;
mod byte_cache;
mod catalog;
mod definition;
mod dispatch;
mod functions;
mod histories;
mod http;
mod map_run;
mod nested;
pub mod offline;
mod operations;
mod page_token;
mod pause;
mod process;
mod quarantine;
mod queues;
mod rate_limit;
mod removal;
mod sdk;
mod service;
mod status_change;
mod stories;
pub mod tag_settings;
mod test_case;
pub mod test_state;
mod token_key;
mod triggers;
mod turns;
mod unsupported;

pub use admission::Admission;
pub use dispatch::{Notifier, TaskObserver};
pub use functions::{Functions, SHIM};
pub use http::{
    Bounds as HttpBounds, Console as HttpConsole, Options as HttpOptions, Tls, TlsError, serve,
};
pub use process::{Ended, Error, Frontend, Given, Mode, Others, Project, ServedBy, run};
pub use queues::Queues;
pub use service::{Environment, Parts, Service};
pub use test_case::TestCases;
pub use unsupported::Unsupported;
