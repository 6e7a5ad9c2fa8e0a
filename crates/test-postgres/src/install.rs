//! Where the programs of PostgreSQL are, and how they get there.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Debian's: one folder for each version.
const VERSIONS: &str = "/usr/lib/postgresql";
const REQUIRE: &str = "EVERSTEP_REQUIRE_POSTGRES";

/// The folder of `initdb` and the others; none, with a message, if there is no PostgreSQL to be had.
///
/// # Panics
///
/// If there is none and `EVERSTEP_REQUIRE_POSTGRES` is set.
pub(crate) fn programs() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOUND.get_or_init(|| find().or_else(install));
    if found.is_none() {
        assert!(
            std::env::var_os(REQUIRE).is_none(),
            "there is no PostgreSQL, and {REQUIRE} is set"
        );
        say(
            "SKIPPED: PostgreSQL is missing and could not be installed with apt-get; install it, or set \
             EVERSTEP_POSTGRES_BIN to the folder of its programs",
        );
    }
    found.as_deref()
}

/// Also of a test that passes: its own output is not shown.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn find() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("EVERSTEP_POSTGRES_BIN") {
        return Some(PathBuf::from(folder));
    }
    let has_initdb = |folder: &PathBuf| folder.join("initdb").is_file();
    newest().or_else(|| {
        let paths = std::env::var_os("PATH")?;
        std::env::split_paths(&paths).find(has_initdb)
    })
}

fn newest() -> Option<PathBuf> {
    let versions = fs::read_dir(VERSIONS).ok()?.filter_map(Result::ok);
    let with_number = versions.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        let folder = entry.path().join("bin");
        folder.join("initdb").is_file().then_some((number, folder))
    });
    with_number.max().map(|(_, folder)| folder)
}

fn install() -> Option<PathBuf> {
    // Of several test processes, one installs.
    let lock = File::create(std::env::temp_dir().join("everstep-installs-postgresql")).ok()?;
    lock.lock().ok()?;
    if let Some(found) = find() {
        return Some(found);
    }
    say("installing PostgreSQL for tests");
    for arguments in [&["update", "-qq"][..], &["install", "-y", "-qq", "postgresql"]] {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        if !command.output().ok()?.status.success() {
            return None;
        }
    }
    find()
}
