//! Watches the disk: new work is refused before there is no room left for the work that was accepted.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::error::{Error, Result};
use super::frontend::Frontend;
use crate::admission::Admission;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What the file system keeps free for running executions, unless a twentieth of it is less.
const RESERVE: u64 = 256 << 20;

/// Sizes in bytes.
#[derive(Debug, Clone, Copy)]
struct Space {
    /// By the files of the data directory.
    used: u64,
    /// In the file system, for this user.
    free: u64,
    total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Plenty,
    /// Four fifths of what may be used are used.
    Low,
    Full,
}

impl Space {
    fn of(data: &Path) -> std::io::Result<Self> {
        let system = rustix::fs::statvfs(data)?;
        let bytes = |blocks: u64| blocks.saturating_mul(system.f_frsize);
        let (free, total) = (bytes(system.f_bavail), bytes(system.f_blocks));
        Ok(Self { used: used(data)?, free, total })
    }

    /// How much the files may have.
    fn budget(self, max: Option<u64>) -> u64 {
        let reserve = RESERVE.min(self.total / 20);
        let there_is = self.used + self.free.saturating_sub(reserve);
        max.map_or(there_is, |max| max.min(there_is))
    }

    /// `before` is what it was: so that it does not change with every file that comes and goes.
    fn level(self, max: Option<u64>, before: Level) -> Level {
        let budget = self.budget(max);
        let full = if before == Level::Full { budget - budget / 32 } else { budget };
        if self.used >= full {
            Level::Full
        } else if self.used >= budget - budget / 5 {
            Level::Low
        } else {
            Level::Plenty
        }
    }
}

/// What the files below a folder take on the disk. Files that go away meanwhile are not counted.
fn used(folder: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in std::fs::read_dir(folder)? {
        let Ok(entry) = entry else { continue };
        let Ok(metadata) = entry.metadata() else { continue };
        sum += match metadata.is_dir() {
            true => used(&entry.path()).unwrap_or(0),
            false => metadata.blocks().saturating_mul(512),
        };
    }
    Ok(sum)
}

pub(super) struct Disk {
    pub(super) data: PathBuf,
    pub(super) max: Option<u64>,
    pub(super) admission: Arc<Admission>,
    pub(super) frontend: Arc<dyn Frontend>,
}

impl Disk {
    /// Opens and closes the admission of new work.
    pub(super) async fn follow(self) {
        let mut level = Level::Plenty;
        loop {
            let data = self.data.clone();
            let found = tokio::task::spawn_blocking(move || Space::of(&data)).await;
            if let Ok(Ok(space)) = found {
                let now = space.level(self.max, level);
                if now != level {
                    self.change(space, now);
                }
                level = now;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn change(&self, space: Space, level: Level) {
        let (used, budget) = (mebibytes(space.used), mebibytes(space.budget(self.max)));
        let sizes = format!("the data directory has {used} of {budget} MiB that it may have");
        match level {
            Level::Plenty | Level::Low => self.admission.open(),
            Level::Full => self.admission.close(&format!(
                "new work is refused because {sizes}: make room on its disk, raise --max-disk, or delete state \
                 machines or executions"
            )),
        }
        self.frontend.write(&match level {
            Level::Plenty => format!("there is room again: {sizes}\n"),
            Level::Low => format!("warning: {sizes}\n"),
            Level::Full => {
                format!("warning: new work is refused: {sizes}; what runs continues\n")
            }
        });
    }
}

fn mebibytes(bytes: u64) -> u64 {
    bytes >> 20
}

/// `500M`, `20GiB`; units are powers of 1,024.
pub(super) fn size(text: &str) -> Result<u64> {
    let wrong =
        || Error::new(format!("invalid size '{text}': use a number of bytes, or 500M, 20G, 1T"));
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text[digits.len()..].to_ascii_uppercase();
    let shift = match unit.trim_end_matches("IB").trim_end_matches('B') {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return Err(wrong()),
    };
    let number: u64 = digits.trim().parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).filter(|bytes| *bytes > 0).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let check = |text: &str, expected: Option<u64>| {
            assert_eq!(size(text).ok(), expected, "{text}");
        };
        check("1", Some(1));
        check("500M", Some(500 << 20));
        check("500MB", Some(500 << 20));
        check("20GiB", Some(20 << 30));
        check("1t", Some(1 << 40));
        for wrong in ["", "0", "M", "1.5G", "-1", "10X", "99999999T"] {
            check(wrong, None);
        }
    }

    #[test]
    fn levels() {
        const M: u64 = 1 << 20;
        let check = |used, free, max, before, expected| {
            let space = Space { used: used * M, free: free * M, total: 100_000 * M };
            assert_eq!(space.level(max, before), expected, "{space:?} {max:?}");
        };
        use Level::{Full, Low, Plenty};
        check(100, 50_000, None, Plenty, Plenty);
        check(100, 256, None, Plenty, Full);
        check(100, 270, None, Plenty, Low);
        check(100, 500, None, Low, Plenty);
        check(100, 50_000, Some(100 * M), Low, Full);
        check(99, 50_000, Some(100 * M), Low, Low);
        check(99, 50_000, Some(100 * M), Full, Full);
        check(96, 50_000, Some(100 * M), Full, Low);
        check(100, 200, Some(1000 * M), Plenty, Full);
    }

    #[test]
    fn a_small_file_system_keeps_a_twentieth() {
        let space = Space { used: 0, free: 30 << 20, total: 400 << 20 };
        assert_eq!(space.budget(None), 10 << 20);
    }
}
