//! A journal of the processes that a host has started, so that the next one can end what is left.
//!
//! If the engine is killed its workers are killed with it, but not what they have started in turn. A
//! process that still works on a call while the call is made again would be one too many.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::lock::lock;
use crate::processes::{self, Stat};

/// Lines of processes that are gone pile up; from here on the file is written anew.
const LENGTH_MAX: u64 = 64 << 10;

pub(crate) struct Journal {
    path: PathBuf,
    state: Mutex<State>,
    /// Held for as long as the host lives: two that share a directory would kill each other's workers.
    _lock: File,
}

struct State {
    file: File,
    length: u64,
    alive: Vec<Entry>,
}

/// A session: its leader, when that was started, and since which boot that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    pid: u32,
    started: u64,
    boot: String,
}

impl Journal {
    /// Kills what an earlier host has left behind, and returns their ids.
    pub(crate) fn open(directory: &Path) -> io::Result<(Self, Vec<u32>)> {
        let lock = File::create(directory.join("lock"))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
            let text = format!("{} is used by another everstep that runs", directory.display());
            io::Error::new(io::ErrorKind::ResourceBusy, text)
        })?;
        let path = directory.join("workers");
        let left = fs::read_to_string(&path).unwrap_or_default();
        let reaped = left.lines().filter_map(Entry::parse).filter(Entry::reap);
        let reaped = reaped.map(|entry| entry.pid).collect();
        let state = State { file: File::create(&path)?, length: 0, alive: Vec::new() };
        Ok((Self { path, state: Mutex::new(state), _lock: lock }, reaped))
    }

    /// Before the process gets work.
    pub(crate) fn add(&self, pid: u32) -> io::Result<()> {
        let mut state = lock(&self.state);
        let entry = Entry::of(pid)?;
        let line = entry.line();
        state.alive.push(entry);
        if state.length > LENGTH_MAX {
            return state.rewrite(&self.path);
        }
        state.length += line.len() as u64;
        state.file.write_all(line.as_bytes())
    }

    /// Once the process and its session are gone.
    pub(crate) fn remove(&self, pid: u32) {
        lock(&self.state).alive.retain(|entry| entry.pid != pid);
    }
}

impl State {
    fn rewrite(&mut self, path: &Path) -> io::Result<()> {
        let text: String = self.alive.iter().map(Entry::line).collect();
        let next = path.with_extension("next");
        fs::write(&next, &text)?;
        fs::rename(&next, path)?;
        self.file = OpenOptions::new().append(true).open(path)?;
        self.length = text.len() as u64;
        Ok(())
    }
}

impl Entry {
    fn of(pid: u32) -> io::Result<Self> {
        let started = Stat::of(pid).map_or(0, |stat| stat.started);
        Ok(Self { pid, started, boot: boot() })
    }

    fn line(&self) -> String {
        format!("{} {} {}\n", self.pid, self.started, self.boot)
    }

    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let (pid, started) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { pid, started, boot: words.next()?.to_owned() })
    }

    /// Whether there was anything left to end.
    fn reap(&self) -> bool {
        if self.boot != boot() {
            return false;
        }
        // Without its leader, a session's number cannot belong to another one before it is empty.
        match Stat::of(self.pid) {
            Some(stat) if stat.started != self.started => false,
            _ => end_session(self.pid),
        }
    }
}

/// Ends a session with all its groups; whether there was anything to end.
pub(crate) fn end_session(leader: u32) -> bool {
    let Some(pid) = i32::try_from(leader).ok().and_then(Pid::from_raw) else { return false };
    // A process that has ended can be signalled until its parent has waited for it.
    let over = Stat::of(leader).is_some_and(|stat| stat.over);
    // In its first moments it leads no group yet.
    let alone = kill_process(pid, Signal::KILL).is_ok();
    let group = kill_process_group(pid, Signal::KILL).is_ok();
    let others = members(leader);
    for member in &others {
        let _ = kill_process(*member, Signal::KILL);
    }
    !over && (alone || group) || !others.is_empty()
}

/// Processes of a session that have left its first group.
#[cfg(target_os = "linux")]
fn members(session: u32) -> Vec<Pid> {
    processes::all()
        .filter(|pid| Stat::of(*pid).is_some_and(|stat| stat.session == session && !stat.over))
        .filter_map(|pid| i32::try_from(pid).ok().and_then(Pid::from_raw))
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn members(_session: u32) -> Vec<Pid> {
    Vec::new()
}

fn boot() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    id.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_again() {
        let entry = Entry { pid: 4, started: 9, boot: "b".to_owned() };
        assert_eq!(Entry::parse(entry.line().trim_end()), Some(entry));
        assert_eq!(Entry::parse("4"), None);
    }

    #[test]
    fn a_directory_has_one_host() {
        let directory = tempfile::tempdir().unwrap();
        let first = Journal::open(directory.path()).unwrap();
        let error = Journal::open(directory.path()).err().unwrap();
        assert!(error.to_string().contains("is used by another everstep"), "{error}");
        drop(first);
        Journal::open(directory.path()).unwrap();
    }

    #[test]
    fn the_journal_keeps_its_size() {
        let directory = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(directory.path()).unwrap();
        for _ in 0..3000 {
            journal.add(std::process::id()).unwrap();
            journal.remove(std::process::id());
        }
        journal.add(std::process::id()).unwrap();
        let text = fs::read_to_string(directory.path().join("workers")).unwrap();
        assert!((text.len() as u64) < LENGTH_MAX + 200, "{}", text.len());
        assert!(text.lines().last().unwrap().starts_with(&std::process::id().to_string()));
    }
}
