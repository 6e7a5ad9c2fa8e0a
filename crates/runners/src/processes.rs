//! What `/proc` says about processes.

use std::fs;
use std::io;
use std::path::Path;

/// What is of interest in `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// In ticks since the machine was booted.
    pub(crate) started: u64,
    pub(crate) over: bool,
}

impl Stat {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// The name may hold anything, brackets and spaces included; it ends at the last bracket.
    fn parse(text: &str) -> Option<Self> {
        let (_, rest) = text.rsplit_once(") ")?;
        let words: Vec<&str> = rest.split(' ').collect();
        let over = matches!(*words.first()?, "Z" | "X");
        Some(Self {
            parent: words.get(1)?.parse().ok()?,
            session: words.get(3)?.parse().ok()?,
            started: words.get(19)?.parse().ok()?,
            over,
        })
    }
}

/// Every process that can be seen.
pub(crate) fn all() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Whether a process acts as a user: by its real, effective, saved or file system id.
pub(crate) fn has_user(pid: u32, uid: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Uid:")).unwrap_or_default();
    line.split_ascii_whitespace().any(|word| word.parse() == Ok(uid))
}

pub(crate) fn threads(pid: u32) -> u64 {
    fs::read_dir(format!("/proc/{pid}/task")).map_or(1, Iterator::count) as u64
}

/// Whether a socket is held by a process or by one that it has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Found,
    /// One of them does not show what it holds.
    Hidden,
    Other,
}

pub(crate) fn holder(leader: u32, inode: u64) -> Holder {
    // Mostly it is the first; there is no need to look at others then.
    let first = holds(leader, inode);
    if first == Holder::Found {
        return first;
    }
    let others = all().filter(|pid| *pid != leader && descends(*pid, leader));
    let mut seen = first;
    for pid in others {
        match holds(pid, inode) {
            Holder::Found => return Holder::Found,
            Holder::Hidden => seen = Holder::Hidden,
            Holder::Other => {}
        }
    }
    seen
}

fn holds(pid: u32, inode: u64) -> Holder {
    let link = format!("socket:[{inode}]");
    let entries = match fs::read_dir(format!("/proc/{pid}/fd")) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Holder::Hidden,
        // It has ended.
        Err(_) => return Holder::Other,
    };
    let mut links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    if links.any(|found| found == Path::new(&link)) { Holder::Found } else { Holder::Other }
}

/// How far up parents are followed. Deeper ones belong to the session.
const GENERATIONS_MAX: usize = 64;

/// Whether a process is of a leader's session, or was started by one that is.
fn descends(pid: u32, leader: u32) -> bool {
    let mut next = pid;
    for _ in 0..GENERATIONS_MAX {
        match Stat::of(next) {
            Some(stat) if stat.session == leader || stat.parent == leader => return true,
            Some(stat) if stat.parent > 1 => next = stat.parent,
            _ => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<(u32, u32, u64, bool)>) {
        let found =
            Stat::parse(text).map(|stat| (stat.parent, stat.session, stat.started, stat.over));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn stat_is_read_whatever_the_name() {
        let rest = "0 -1 4194304 101 0 0 0 0 0 0 0 20 0 1 0 2218779 3133440";
        check(&format!("696 (a) R ) S 683 684 30585 {rest}"), Some((683, 30585, 2218779, false)));
        check(&format!("696 (cat) Z 683 684 30585 {rest}"), Some((683, 30585, 2218779, true)));
        check("696 (cat) R 1", None);
    }

    #[test]
    fn a_process_holds_its_own_sockets() {
        use std::os::fd::AsFd as _;
        let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let inode = rustix::fs::fstat(socket.as_fd()).unwrap().st_ino;
        let own = std::process::id();
        assert_eq!(holder(own, inode), Holder::Found);
        drop(socket);
        assert_eq!(holds(own, inode), Holder::Other);
        assert!(has_user(own, rustix::process::getuid().as_raw()));
        assert!(!has_user(own, 4_000_000));
    }
}
