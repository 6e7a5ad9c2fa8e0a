//! What commands share that speak to a server: the connection, names for ARNs, tables, and the story of an
//! execution as its history tells it.
//!
//! Everything here goes through the API, so that any server that speaks it will do.

pub(crate) mod api;
pub(crate) mod awaiting;
pub(crate) mod failure;
pub(crate) mod following;
pub(crate) mod invocation;
pub(crate) mod lambda;
pub(crate) mod names;
pub(crate) mod policy;
mod problem;
pub(crate) mod selection;
pub(crate) mod shown;

pub(crate) use api::{Api, Connection};
