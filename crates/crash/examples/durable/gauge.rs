//! Reads the machine's counters and reports them.

use std::path::Path;
use std::time::Duration;

/// Processor time of this process so far.
pub(crate) fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<u64> =
        after_name.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    // User and system time, in hundredths of a second.
    Duration::from_millis((fields[11] + fields[12]) * 10)
}

/// The middle, the least and the most of some figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    least: f64,
    most: f64,
}

impl Spread {
    pub(crate) fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let (least, most) = (figures[0], figures[figures.len() - 1]);
        Self { median: figures[figures.len() / 2], least, most }
    }

    pub(crate) fn show(&self, digits: usize) -> String {
        let Self { median, least, most } = self;
        format!("{median:.digits$} ({least:.digits$} to {most:.digits$})")
    }
}

/// The value that a share of all is below.
pub(crate) fn percentile(sorted: &[Duration], share: f64) -> Duration {
    let index = (sorted.len() as f64 * share) as usize;
    sorted[index.min(sorted.len() - 1)]
}

pub(crate) fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Memory that this process has now.
pub(crate) fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).unwrap_or(0_u64) * 1024
}

/// Bytes of disk that a directory takes.
pub(crate) fn bytes_in(directory: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(file) if file.is_dir() => bytes_in(&entry.path()),
            Ok(file) => file.blocks() * 512,
            Err(_) => 0,
        })
        .sum()
}
