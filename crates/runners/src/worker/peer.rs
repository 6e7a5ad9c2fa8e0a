//! Who may use the Runtime API of a worker: its own process and what that has started.
//!
//! Every user of a machine can connect to every port of its loopback interface, and clients of the Runtime API
//! know nothing of secrets: `awslambdaric` reports a failed start to a host and a port, and nothing else. So
//! each connection is traced to the process that holds its other end, once, before a request is read.

use std::fmt;
use std::net::SocketAddrV4;

/// A connection that is not the worker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stranger {
    OtherUser(u32),
    OtherProcess,
    /// It was closed before it could be traced.
    Gone,
    /// The kernel does not say whose it is.
    Unknown(String),
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("refused a connection to its Runtime API: ")?;
        match self {
            Self::OtherUser(uid) => write!(f, "it comes from user {uid}"),
            Self::OtherProcess => f.write_str("it comes from another process"),
            Self::Gone => f.write_str("it was closed at once"),
            Self::Unknown(why) => write!(f, "its process cannot be found: {why}"),
        }
    }
}

/// Whether `end`, which is connected to `api`, is an end of the worker's or of a process that it has started.
#[cfg(target_os = "linux")]
pub(super) fn check(worker: u32, end: SocketAddrV4, api: SocketAddrV4) -> Result<(), Stranger> {
    use crate::processes::{self, Holder};
    use crate::socket_owner;
    let owner = match socket_owner::of(end, api) {
        Ok(owner) => owner.ok_or(Stranger::Gone)?,
        Err(error) => return Err(Stranger::Unknown(error.to_string())),
    };
    // Quickly, so that it costs others more to ask than it costs the engine to refuse. A worker of root may have
    // become another user.
    let engine = rustix::process::geteuid().as_raw();
    if owner.uid != engine && !processes::has_user(worker, owner.uid) {
        return Err(Stranger::OtherUser(owner.uid));
    }
    match processes::holder(worker, owner.inode) {
        // A process that hides its files (a program that its user may not read) is known by its user.
        Holder::Found | Holder::Hidden => Ok(()),
        Holder::Other => Err(Stranger::OtherProcess),
    }
}

/// Elsewhere nothing says whose a connection is.
#[cfg(not(target_os = "linux"))]
pub(super) fn check(_worker: u32, _end: SocketAddrV4, _api: SocketAddrV4) -> Result<(), Stranger> {
    Ok(())
}
