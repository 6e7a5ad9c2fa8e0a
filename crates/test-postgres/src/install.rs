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

/// A program of a package, installed if it is missing; none, with a message, if it cannot be had.
///
/// # Panics
///
/// If it cannot be had and `EVERSTEP_REQUIRE_POSTGRES` is set.
#[must_use]
pub fn program(name: &str, package: &str) -> Option<PathBuf> {
    let found = on_path(name).or_else(|| apt_get(package, || on_path(name)));
    if found.is_none() {
        assert!(std::env::var_os(REQUIRE).is_none(), "there is no {name}, and {REQUIRE} is set");
        say(&format!("SKIPPED: {name} is missing and could not be installed with apt-get"));
    }
    found
}

/// Debian has some programs in a folder that only root looks into.
fn on_path(name: &str) -> Option<PathBuf> {
    let paths = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&paths).chain(["/usr/sbin".into()]);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Also of a test that passes: its own output is not shown.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

fn find() -> Option<PathBuf> {
    if let Some(folder) = std::env::var_os("EVERSTEP_POSTGRES_BIN") {
        return Some(PathBuf::from(folder));
    }
    newest().or_else(|| on_path("initdb")?.parent().map(Path::to_owned))
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
    apt_get("postgresql", find)
}

/// Installs a package and looks again.
fn apt_get(package: &str, find: impl Fn() -> Option<PathBuf>) -> Option<PathBuf> {
    // Of several test processes, one installs.
    let lock = File::create(std::env::temp_dir().join("everstep-installs-packages")).ok()?;
    lock.lock().ok()?;
    if let Some(found) = find() {
        return Some(found);
    }
    say(&format!("installing {package} for tests"));
    for arguments in [&["update", "-qq"][..], &["install", "-y", "-qq", package]] {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        if !command.output().ok()?.status.success() {
            return None;
        }
    }
    find()
}
