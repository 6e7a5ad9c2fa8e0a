//! What a worker may use: memory and processes.
//!
//! Control groups limit a worker and all processes it starts, under any user, and end all of them at once.
//! Where control groups are not available, per-process limits replace them. They are weaker, and `describe` says
//! so.

mod cgroup;

use std::path::Path;

use crate::processes;
use crate::shim::Order;

pub(crate) use cgroup::ControlGroup;
use cgroup::Kinds;

/// Memory that is not the data of the function: stacks of threads, arenas, what an interpreter reserves.
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

    /// For a log.
    #[must_use]
    pub fn describe(&self) -> String {
        let processes = match (&self.kinds.pids, self.root) {
            (Some(_), _) => format!("processes: {} by control group", self.processes_max),
            (None, false) => {
                format!("processes: {} more than the user has, by RLIMIT_NPROC", self.processes_max)
            }
            (None, true) => "processes: unlimited, because this is root without control groups; \
                             all are killed at the deadline"
                .to_owned(),
        };
        let memory = match &self.kinds.memory {
            Some(_) => "memory: by control group",
            None => "memory: of each process, by RLIMIT_DATA",
        };
        format!("{processes}; {memory}")
    }

    /// Adds to an order what bounds the process.
    pub(crate) fn apply(&self, order: &mut Order, worker: u64, memory_mib: u32) -> ControlGroup {
        let memory_bytes = u64::from(memory_mib) << 20;
        let group = self.kinds.group(worker, self.processes_max, memory_bytes);
        order.groups = group.directories().map(Path::to_owned).collect();
        if !group.bounds_memory() {
            order.data_bytes = Some(memory_bytes + OVERHEAD_BYTES);
        }
        if !group.bounds_processes() && !self.root {
            order.processes = Some(user_threads() + self.processes_max);
        }
        group
    }
}

/// RLIMIT_NPROC counts all threads of a user, wherever they come from. The owner of a process in `/proc` may be
/// root instead: the engine's own is, because it is not dumpable.
fn user_threads() -> u64 {
    let user = rustix::process::getuid().as_raw();
    processes::all().filter(|pid| processes::has_user(*pid, user)).map(processes::threads).sum()
}
