//! What a worker may use: memory and processes.
//!
//! Control groups bound a worker with all that it starts, whoever it runs as, and end all of it at once.
//! Where there are none that may be used, the limits of processes stand in: weaker, and said to be.

mod cgroup;

use std::path::Path;

use crate::shim::Order;

pub(crate) use cgroup::Cage;
use cgroup::Kinds;

/// Memory for what is no data of the function: stacks of threads, arenas, what an interpreter reserves.
const OVERHEAD_BYTES: u64 = 256 << 20;

/// How workers are bounded on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    kinds: Kinds,
    processes_max: u64,
    root: bool,
}

impl Limits {
    /// Looks for control groups that may be used, and empties those that an earlier host has left.
    pub(crate) fn find(name: &str, processes_max: u64) -> Self {
        let root = rustix::process::geteuid().is_root();
        Self { kinds: Kinds::find(name), processes_max, root }
    }

    /// In words, for a log.
    #[must_use]
    pub fn describe(&self) -> String {
        let processes = match (&self.kinds.pids, self.root) {
            (Some(_), _) => format!("processes: {} by control group", self.processes_max),
            (None, false) => {
                format!("processes: {} more than the user has, by RLIMIT_NPROC", self.processes_max)
            }
            (None, true) => "processes: not bounded, for this is root and there is no control \
                             group; all are killed at the deadline"
                .to_owned(),
        };
        let memory = match &self.kinds.memory {
            Some(_) => "memory: by control group",
            None => "memory: of each process, by RLIMIT_DATA",
        };
        format!("{processes}; {memory}")
    }

    /// Adds to an order what bounds the process.
    pub(crate) fn apply(&self, order: &mut Order, worker: u64, memory_mib: u32) -> Cage {
        let memory_bytes = u64::from(memory_mib) << 20;
        let cage = self.kinds.cage(worker, self.processes_max, memory_bytes);
        order.groups = cage.directories().map(Path::to_owned).collect();
        if !cage.bounds_memory() {
            order.data_bytes = Some(memory_bytes + OVERHEAD_BYTES);
        }
        if !cage.bounds_processes() && !self.root {
            order.processes = user_threads().map(|now| now + self.processes_max);
        }
        cage
    }
}

/// RLIMIT_NPROC counts all threads of a user, wherever they come from.
fn user_threads() -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::getuid().as_raw();
    let mut threads = 0;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let is_process = entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok());
        if is_process && entry.metadata().is_ok_and(|metadata| metadata.uid() == user) {
            threads +=
                std::fs::read_dir(entry.path().join("task")).map_or(1, Iterator::count) as u64;
        }
    }
    Some(threads)
}
