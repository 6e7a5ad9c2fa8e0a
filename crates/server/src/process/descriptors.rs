//! File descriptors: how many the process may have, and what they are for.
//!
//! A store that cannot open a file stops the engine. So connections, which others open, never take the descriptors
//! that it needs.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// For the store, logs, timers and listening sockets.
const OWN: usize = 256;

/// How many descriptors things may take that others can have many of. What is left is for functions' processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descriptors {
    /// Connections of clients.
    pub(super) connections: usize,
    /// Requests to others: tasks, destinations.
    pub(super) requests: usize,
}

impl Descriptors {
    /// Raises the soft limit to the hard limit, and divides it.
    pub(super) fn take() -> Self {
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        // Some systems refuse what they say is allowed; then the soft limit stays.
        let most = match setrlimit(Resource::Nofile, raised) {
            Ok(()) => limit.maximum,
            Err(_) => limit.current,
        };
        Self::of(most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX))
    }

    fn of(limit: usize) -> Self {
        let shared = limit - OWN.min(limit / 2);
        Self { connections: shared / 2, requests: shared / 4 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_room_for_the_store() {
        let check = |limit, connections, requests| {
            assert_eq!(Descriptors::of(limit), Descriptors { connections, requests }, "{limit}");
        };
        check(64, 16, 8);
        check(1024, 384, 192);
        check(4096, 1920, 960);
        check(1 << 20, 524_160, 262_080);
    }
}
