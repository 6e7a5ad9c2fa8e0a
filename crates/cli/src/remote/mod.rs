//! What the commands that call a server share: the connection, names for ARNs, tables, and watching an execution
//! or an invocation until it ends.
//!
//! Everything here goes through the API, so it works with any server that implements it.

pub(crate) mod api;
pub(crate) mod display;
pub(crate) mod execution_watch;
pub(crate) mod invocation_watch;
pub(crate) mod lambda;
pub(crate) mod names;
mod refusal;
pub(crate) mod selection;

pub(crate) use api::{Api, Connection};
