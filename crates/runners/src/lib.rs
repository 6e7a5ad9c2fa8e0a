//! Functions as processes, commands and HTTP services.
//!
//! A [`Host`] runs functions that are unmodified AWS Lambda handlers, by hosting the Lambda Runtime API for
//! their processes; commands; and services behind a URL. [`Tasks`] runs the tasks of executions with it.
//! Knows nothing of invocations, retries, journals of executions or stores.

mod bootstrap;
mod call;
mod calls;
mod claim;
mod command;
mod environment;
mod error;
mod function;
mod host;
mod http;
mod limits;
mod lock;
mod log_result;
mod observer;
mod orphans;
mod output;
mod pool;
mod process;
mod processes;
mod remote;
pub mod shim;
mod slots;
#[cfg(target_os = "linux")]
mod socket_owner;
mod spawner;
mod tasks;
mod worker;

pub use call::{Call, Ended, Outcome, Receipt};
pub use claim::{Claim, Grant};
pub use error::{Error, RESPONSE_BYTES_MAX};
pub use function::{Bootstrap, Function, Runtime};
pub use host::{Host, Options, Standing};
pub use limits::Limits;
pub use log_result::log_result;
pub use observer::{Event, Observer, Silent, Stream, Tag};
pub use remote::{Asked, Invocation, Invoked, Refusal, RemoteLambda};
pub use tasks::{Acceptor, Tasks};
