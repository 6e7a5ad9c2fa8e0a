//! What goes wrong outside: full disks, damaged files, killed processes. Nothing that was
//! acknowledged may be missing unreported, and nothing may panic or hang.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, process};

use everstep_store::suite::{Load, check_load};
use everstep_store::{Error, Row, Scan, Shard, Space, Store};
use everstep_store_embedded::{EmbeddedStore, OpenError, Options};
use tempfile::TempDir;

/// Rows leave memory soon, so that there are files of every kind.
fn options() -> Options {
    Options { shards: 4, memtable_bytes: 32 * 1024, cache_bytes: 64 * 1024, ..Options::default() }
}

fn open(path: &Path) -> EmbeddedStore {
    EmbeddedStore::open(path, &options()).unwrap_or_else(|error| panic!("{error}"))
}

fn directory() -> TempDir {
    TempDir::new().expect("a directory")
}

// --- Another process ---------------------------------------------------------------------------

const DIRECTORY: &str = "EVERSTEP_TEST_DIRECTORY";
/// Set to write large values, and to keep them all in memory.
const LARGE: &str = "EVERSTEP_TEST_LARGE";

/// Does the work of another process when this file is run as one: continues the load, and prints
/// how many batches are acknowledged until it is stopped or fails.
#[test]
fn child() {
    let Some(directory) = env::var_os(DIRECTORY) else { return };
    let large = env::var_os(LARGE).is_some();
    let value_bytes = if large { 400_000 } else { 500 };
    let memtable_bytes = if large { 1 << 30 } else { options().memtable_bytes };
    let options = Options { memtable_bytes, ..options() };
    let store = EmbeddedStore::open(Path::new(&directory), &options).expect("opens");
    let count = check_load(&store, 0);
    println!("\nopen {count}");
    let mut load = Load::new(&store, count, 32, value_bytes);
    loop {
        match load.step() {
            Ok(acknowledged) => println!("acknowledged {acknowledged}"),
            Err(error) => {
                println!("failed {error}");
                drop(load);
                drop(store);
                process::exit(7);
            }
        }
    }
}

fn spawn(mut command: Command, directory: &Path) -> Child {
    command.env(DIRECTORY, directory).stdout(Stdio::piped()).stderr(Stdio::null());
    command.spawn().expect("a child")
}

fn this_test() -> Command {
    let mut command = Command::new(env::current_exe().expect("this file"));
    command.args(["--exact", "child", "--nocapture"]);
    command
}

fn lines(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    lines.map_while(Result::ok)
}

fn after<'l>(line: &'l str, word: &str) -> Option<&'l str> {
    line.strip_prefix(word)?.strip_prefix(' ')
}

#[test]
fn a_second_process_is_refused() {
    let directory = directory();
    let mut child = spawn(this_test(), directory.path());
    assert!(lines(&mut child).any(|line| after(&line, "open").is_some()), "the child did not open");
    match EmbeddedStore::open(directory.path(), &options()) {
        Err(OpenError::InUse { pid, .. }) => assert_eq!(pid, Some(child.id())),
        other => panic!("{:?}", other.err()),
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
    open(directory.path());
}

#[test]
fn killed_twenty_times() {
    let directory = directory();
    let mut count = 0;
    for turn in 0..20 {
        let mut child = spawn(this_test(), directory.path());
        let mut seen = 0;
        let mut acknowledged = count;
        for line in lines(&mut child) {
            if let Some(number) = after(&line, "acknowledged") {
                acknowledged = number.parse().expect("a number");
                seen += 1;
                if seen == 7 + turn * 13 {
                    child.kill().expect("killed");
                }
            }
        }
        child.wait().expect("gone");
        assert!(acknowledged > count, "turn {turn}: the child did nothing");
        // In the end the lines of the killed child are all read: this is the last it could say.
        count = check_load(&open(directory.path()), acknowledged);
    }
}

// --- No room, no permission --------------------------------------------------------------------

/// A small file system of its own, where that is allowed.
struct Small {
    mount: TempDir,
}

impl Small {
    fn new(size: &str) -> Option<Self> {
        let mount = directory();
        let done =
            mount_command(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], mount.path());
        if !done {
            println!("skipped: this process may not mount a small file system");
        }
        done.then_some(Self { mount })
    }

    fn remount(&self, options: &str) {
        assert!(mount_command(&["-o", &format!("remount,{options}")], self.mount.path()));
    }

    fn store(&self) -> PathBuf {
        self.mount.path().join("store")
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.mount.path()).status();
    }
}

fn mount_command(arguments: &[&str], path: &Path) -> bool {
    let status = Command::new("mount").args(arguments).arg(path).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Writes until the store fails; how many batches were acknowledged, and what it said.
fn until_failure(store: &EmbeddedStore, value_bytes: usize) -> (u64, String) {
    let mut load = Load::new(store, check_load(store, 0), 16, value_bytes);
    let mut acknowledged = 0;
    loop {
        match load.step() {
            Ok(count) => acknowledged = count,
            Err(Error::Failed(message)) => return (acknowledged, message.to_string()),
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn a_full_disk() {
    // Where the room ends decides whether the journal, a table or a new journal meets it.
    for size in ["6m", "9m", "17m"] {
        let Some(small) = Small::new(size) else { return };
        let store = open(&small.store());
        let (acknowledged, message) = until_failure(&store, 3000);
        assert!(acknowledged > 0);
        assert!(message.contains(&small.store().display().to_string()), "{message}");
        assert!(message.contains("KiB free"), "{message}");
        assert!(message.contains("nothing that was acknowledged is lost"), "{message}");
        assert!(message.contains("room"), "{message}");
        // Final: every later batch fails in the same way, and what is there can be read.
        let (_, again) = until_failure(&store, 10);
        assert_eq!(again, message);
        check_load(&store, acknowledged);
        drop(store);
        small.remount("size=300m");
        let store = open(&small.store());
        let count = check_load(&store, acknowledged);
        let mut load = Load::new(&store, count, 4, 100);
        while load.step().expect("there is room again") < count + 20 {}
    }
}

#[test]
fn a_limit_on_the_size_of_files() {
    let directory = directory();
    // A little above the 64 MiB with which a journal is made, in blocks of 512 bytes. As nothing is
    // flushed, the journal is not replaced by a new one before it comes to that.
    let mut shell = Command::new("sh");
    let script = "trap '' XFSZ; ulimit -f 139264; exec \"$0\" --exact child --nocapture";
    shell.args(["-c", script]).arg(env::current_exe().expect("this file"));
    shell.env(LARGE, "1");
    let mut child = spawn(shell, directory.path());
    let (mut acknowledged, mut failed) = (0, None);
    for line in lines(&mut child) {
        if let Some(number) = after(&line, "acknowledged") {
            acknowledged = number.parse().expect("a number");
        }
        failed = failed.or_else(|| after(&line, "failed").map(str::to_owned));
    }
    assert_eq!(child.wait().expect("gone").code(), Some(7), "the child fails in an orderly way");
    let message = failed.expect("a message");
    assert!(message.contains("lift the limit on the size of files"), "{message}");
    assert!(acknowledged > 100, "{acknowledged}");
    check_load(&open(directory.path()), acknowledged);
}

#[test]
fn a_directory_that_cannot_be_written() {
    let (small, plain) = (Small::new("100m"), directory());
    let path = small.as_ref().map_or_else(|| plain.path().join("store"), Small::store);
    drop(open(&path));
    let writable = |yes: bool| match &small {
        Some(small) => small.remount(if yes { "rw" } else { "ro" }),
        None => {
            let files =
                ["lock", "rows/lock", "rows/0.jnl", "high-water"].map(|file| path.join(file));
            for path in files.iter().chain([&path]) {
                let mut permissions = fs::metadata(path).expect("is there").permissions();
                permissions.set_readonly(!yes);
                fs::set_permissions(path, permissions).expect("changed");
            }
        }
    };
    writable(false);
    let opened = EmbeddedStore::open(&path, &options());
    let fresh = EmbeddedStore::open(&path.join("inner"), &options());
    writable(true);
    for error in [opened.err(), fresh.err()] {
        let error = error.expect("a refusal").to_string();
        assert!(error.contains("must be writable"), "{error}");
    }
    open(&path);
}

// --- Damaged files -----------------------------------------------------------------------------

type Rows = Vec<(Shard, Space, Vec<Row>)>;

/// All rows, or that one of them cannot be read.
fn rows(store: &EmbeddedStore) -> Result<Rows, Error> {
    let places =
        (0..store.shards()).flat_map(|shard| Space::ALL.map(|space| (Shard(shard), space)));
    let read = |(shard, space)| {
        let rows = store.scan(shard, space, Scan::between(b"", b"", usize::MAX))?;
        for (key, value) in &rows {
            assert_eq!(store.get(shard, space, key)?.as_ref(), Some(value));
        }
        Ok((shard, space, rows))
    };
    places.map(read).collect()
}

/// A closed store with tables on several levels and a journal, and its rows.
fn made() -> (TempDir, Rows) {
    let directory = directory();
    // Opened again: that makes the journal as long as what it holds.
    for turn in 1..=3 {
        let store = open(directory.path());
        let mut load = Load::new(&store, check_load(&store, 0), 8, 300);
        while load.step().expect("commits") < turn * 400 {}
        load.finish().expect("commits");
    }
    let rows = rows(&open(directory.path())).expect("reads");
    (directory, rows)
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).expect("below"));
        fs::create_dir_all(target.parent().expect("a parent")).expect("made");
        fs::copy(file, target).expect("copied");
    }
}

/// Damages each file in turn. Each time the store is refused, or a read fails, or every row is right.
fn check_damage(damages: impl Fn(&[u8]) -> Vec<Option<Vec<u8>>>) {
    let (original, expected) = made();
    let (mut refused, mut unreadable, mut harmless) = (0, 0, 0);
    for file in files(original.path()) {
        let name = file.strip_prefix(original.path()).expect("below");
        let bytes = fs::read(&file).expect("read");
        for (index, damage) in damages(&bytes).into_iter().enumerate() {
            let copied = directory();
            copy(original.path(), copied.path());
            match damage {
                Some(bytes) => fs::write(copied.path().join(name), bytes).expect("written"),
                None => fs::remove_file(copied.path().join(name)).expect("removed"),
            }
            let name = name.display();
            match EmbeddedStore::open(copied.path(), &options()) {
                Err(error) => {
                    refused += 1;
                    println!("{name} {index}: {error}");
                }
                Ok(store) => match rows(&store) {
                    Err(error) => {
                        unreadable += 1;
                        println!("{name} {index}: read: {error}");
                    }
                    Ok(found) => {
                        harmless += 1;
                        assert!(found == expected, "damage {index} of {name}: rows are missing");
                    }
                },
            }
        }
    }
    println!("{refused} refused, {unreadable} unreadable, {harmless} harmless");
    assert!(refused > 0 && harmless > 0, "{refused} refused, {unreadable} unreadable, {harmless}");
}

#[test]
fn flipped_bits() {
    check_damage(|bytes| {
        let places = 12.min(bytes.len());
        let flip = |at: usize| {
            let mut bytes = bytes.to_vec();
            bytes[at] ^= 1 << (at % 8);
            Some(bytes)
        };
        (0..places)
            .map(|place| flip(place * bytes.len() / places))
            .chain(bytes.len().checked_sub(1).map(flip))
            .collect()
    });
}

#[test]
fn files_cut_off() {
    check_damage(|bytes| {
        let lengths = [0, 1, bytes.len() / 3, bytes.len() / 2, bytes.len().saturating_sub(1)];
        lengths
            .into_iter()
            .filter(|length| *length < bytes.len())
            .map(|length| Some(bytes[..length].to_vec()))
            .collect()
    });
}

#[test]
fn files_removed() {
    check_damage(|_| vec![None]);
}

#[test]
fn files_filled_with_zeros() {
    check_damage(|bytes| {
        let mut half = bytes.to_vec();
        half[bytes.len() / 2..].fill(0);
        vec![Some(vec![0; bytes.len()]), Some(half)]
    });
}
