//! Control groups, of either version: a directory for each worker, below the one the engine is in.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where workers' groups may be made, for each kind of bound.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Kinds {
    pub(super) pids: Option<Arc<Place>>,
    pub(super) memory: Option<Arc<Place>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    directory: PathBuf,
    unified: bool,
}

impl Kinds {
    pub(super) fn find(name: &str) -> Self {
        let Ok(memberships) = fs::read_to_string("/proc/self/cgroup") else {
            return Self::default();
        };
        let Ok(mounts) = fs::read_to_string("/proc/self/mounts") else { return Self::default() };
        let unified = unified(&memberships, &mounts).and_then(|own| delegated(&own, name));
        let place = |controller: &str| {
            if let Some(directory) = &unified
                && has_word(&directory.join("cgroup.controllers"), controller)
            {
                return Some(Arc::new(Place { directory: directory.clone(), unified: true }));
            }
            let directory = legacy(&memberships, &mounts, controller)?.join(name);
            make(&directory).ok()?;
            Some(Arc::new(Place { directory, unified: false }))
        };
        let kinds = Self { pids: place("pids"), memory: place("memory") };
        for place in kinds.pids.iter().chain(&kinds.memory) {
            place.clear();
        }
        kinds
    }

    /// Groups for one worker. What cannot be made does not bound it.
    pub(super) fn group(&self, worker: u64, processes: u64, memory_bytes: u64) -> ControlGroup {
        let pids = self.pids.as_ref().and_then(|place| {
            let directory = place.make(worker).ok()?;
            write(&directory, "pids.max", processes).ok().map(|()| directory)
        });
        let memory = self.memory.as_ref().and_then(|place| {
            let directory = place.make(worker).ok()?;
            if place.unified {
                write(&directory, "memory.max", memory_bytes).ok()?;
                let _ = write(&directory, "memory.swap.max", 0);
                let _ = write(&directory, "memory.oom.group", 1);
            } else {
                write(&directory, "memory.limit_in_bytes", memory_bytes).ok()?;
            }
            Some(directory)
        });
        ControlGroup { pids, memory, _places: (self.pids.clone(), self.memory.clone()) }
    }
}

impl Place {
    fn make(&self, worker: u64) -> io::Result<PathBuf> {
        let directory = self.directory.join(format!("worker-{worker}"));
        make(&directory).map(|()| directory)
    }

    /// Ends and removes what another host has left.
    fn clear(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else { return };
        for entry in entries.flatten().filter(|entry| entry.path().is_dir()) {
            let group = ControlGroup { pids: Some(entry.path()), ..ControlGroup::default() };
            group.kill();
            group.remove();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What is not empty is left to the next host.
        let _ = fs::remove_dir(&self.directory);
    }
}

/// The groups of one worker.
#[derive(Debug, Clone, Default)]
pub(crate) struct ControlGroup {
    pids: Option<PathBuf>,
    memory: Option<PathBuf>,
    /// They go when the last worker has gone.
    _places: (Option<Arc<Place>>, Option<Arc<Place>>),
}

impl ControlGroup {
    pub(crate) fn directories(&self) -> impl Iterator<Item = &Path> {
        let second = if self.pids == self.memory { None } else { self.memory.as_deref() };
        self.pids.as_deref().into_iter().chain(second)
    }

    pub(super) fn bounds_processes(&self) -> bool {
        self.pids.is_some()
    }

    pub(super) fn bounds_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Ends all that is inside. Without a switch for it, until nothing is left: what is bounded cannot
    /// outrun it for long.
    pub(crate) fn kill(&self) {
        for directory in self.directories() {
            if fs::write(directory.join("cgroup.kill"), "1").is_ok() {
                continue;
            }
            for _ in 0..100 {
                if !kill_members(directory) {
                    break;
                }
            }
        }
    }

    /// Whether the kernel has ended something here for want of memory.
    pub(crate) fn ran_out_of_memory(&self) -> bool {
        let Some(directory) = &self.memory else { return false };
        ["memory.events", "memory.oom_control"].iter().any(|file| {
            let text = fs::read_to_string(directory.join(file)).unwrap_or_default();
            let kills = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
            kills.is_some_and(|kills| kills.trim() != "0")
        })
    }

    /// Once all is over. What still ends keeps its directory, for the next host to remove.
    pub(crate) fn remove(&self) {
        for directory in self.directories() {
            let _ = fs::remove_dir(directory);
        }
    }
}

fn kill_members(directory: &Path) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    let members = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    let mut any = false;
    for pid in members.lines().filter_map(|line| line.parse().ok().and_then(Pid::from_raw)) {
        // It may be over already.
        let _ = kill_process(pid, Signal::KILL);
        any = true;
    }
    any
}

fn make(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn write(directory: &Path, file: &str, value: u64) -> io::Result<()> {
    fs::write(directory.join(file), value.to_string())
}

fn has_word(file: &Path, word: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|found| found == word))
}

/// The engine's own group in the unified hierarchy.
fn unified(memberships: &str, mounts: &str) -> Option<PathBuf> {
    let path = memberships.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, at, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "cgroup2").then_some(at)
    })?;
    Some(Path::new(mount).join(path.trim_start_matches('/')))
}

/// The engine's own group in a hierarchy of the first version.
fn legacy(memberships: &str, mounts: &str, controller: &str) -> Option<PathBuf> {
    let path = memberships.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|found| found == controller).then_some(path)
    })?;
    let mount = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, at, kind, options) = (words.next()?, words.next()?, words.next()?, words.next()?);
        (kind == "cgroup" && options.split(',').any(|found| found == controller)).then_some(at)
    })?;
    Some(Path::new(mount).join(path.trim_start_matches('/')))
}

/// A directory for workers' groups that has the controllers. A group with processes in it can have none
/// for its children, so a service manager must have put the engine in a subgroup `engine`
/// (systemd: `Delegate=yes`, `DelegateSubgroup=engine`); only the root needs nothing.
fn delegated(own: &Path, name: &str) -> Option<PathBuf> {
    let above = own.file_name().filter(|name| *name == "engine").and_then(|_| own.parent());
    let base = above.unwrap_or(own);
    let directory = base.join(name);
    fs::write(base.join("cgroup.subtree_control"), "+pids +memory").ok()?;
    make(&directory).ok()?;
    fs::write(directory.join("cgroup.subtree_control"), "+pids +memory").ok()?;
    Some(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBERSHIPS: &str =
        "5:pids:/\n4:cpu,memory:/user/a\n0::/system.slice/everstep.service/engine\n";
    const MOUNTS: &str = "cgroup /sys/fs/cgroup/memory cgroup rw,relatime,memory 0 0\n\
                          cgroup2 /sys/fs/cgroup/unified cgroup2 rw,relatime 0 0\n";

    fn check(found: Option<PathBuf>, expected: Option<&str>) {
        assert_eq!(found.as_deref(), expected.map(Path::new));
    }

    #[test]
    fn the_engines_own_groups_are_found() {
        let engine = "/sys/fs/cgroup/unified/system.slice/everstep.service/engine";
        check(unified(MEMBERSHIPS, MOUNTS), Some(engine));
        check(legacy(MEMBERSHIPS, MOUNTS, "memory"), Some("/sys/fs/cgroup/memory/user/a"));
        check(legacy(MEMBERSHIPS, MOUNTS, "pids"), None);
        check(unified("5:pids:/\n", MOUNTS), None);
    }
}
