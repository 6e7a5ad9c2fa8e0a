//! What an engine says and does when its disk is full, its directory taken or its files damaged.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use everstep_crash::check;
use everstep_crash::child::Process;
use everstep_crash::protocol::{Answer, End, Request};
use everstep_crash::{harness, machines};
use everstep_executions::{ExecutionId, ListId};

const PROGRAM: &str = env!("CARGO_BIN_EXE_engine-under-test");
const MACHINE: &str = "chain";
const PATIENCE: Duration = Duration::from_secs(60);

struct Home {
    directory: tempfile::TempDir,
}

impl Home {
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        Self { directory: directory.expect("a directory") }
    }

    fn store(&self) -> PathBuf {
        self.directory.path().join("store")
    }

    fn witness(&self) -> PathBuf {
        self.directory.path().join("witness")
    }

    fn process(&self) -> Process {
        Process::start(PROGRAM, &self.store(), &self.witness())
    }
}

fn start(n: usize, filler: usize) -> Request {
    let mut input = machines::input(n as u64);
    input["filler"] = "x".repeat(filler).into();
    Request::Start { machine: MACHINE.to_owned(), arn: arn(n), input }
}

fn arn(n: usize) -> String {
    harness::execution_arn(MACHINE, &format!("e{n}"))
}

fn next(process: &mut Process) -> Answer {
    process.answer(Instant::now() + PATIENCE).expect("an answer in time")
}

fn ready(process: &mut Process) {
    let answer = next(process);
    assert!(matches!(answer, Answer::Ready { .. }), "{answer:?}");
}

/// Starts executions and waits until they are over.
fn finish_some(process: &mut Process, numbers: std::ops::Range<usize>) {
    for n in numbers.clone() {
        process.send(&start(n, 100));
        process.send(&Request::Watch { arn: arn(n) });
    }
    let mut left = numbers.len();
    while left > 0 {
        match next(process) {
            Answer::Ended { end: End::Succeeded(_), .. } => left -= 1,
            Answer::Started { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Starts executions until the engine gives up: those that were acknowledged, and what it said.
fn start_until_failure(process: &mut Process, filler: usize) -> (HashSet<String>, String) {
    let (mut acknowledged, mut sent) = (HashSet::new(), 0);
    let deadline = Instant::now() + PATIENCE;
    loop {
        assert!(Instant::now() < deadline, "the disk does not fill");
        while sent < acknowledged.len() + 16 {
            process.send(&start(sent, filler));
            sent += 1;
        }
        match next(process) {
            Answer::Started { arn } => {
                acknowledged.insert(arn);
            }
            Answer::Failed { error } => return (acknowledged, error),
            Answer::Refused { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// After its store has failed, an engine answers everything, with the same clear error.
fn answers_everything(process: &mut Process, acknowledged: &HashSet<String>, error: &str) {
    let known = acknowledged.iter().next().expect("some were accepted").clone();
    let requests = [
        start(1_000_000, 10),
        Request::Watch { arn: known.clone() },
        Request::Stop { arn: known.clone() },
        Request::Redrive { arn: known },
    ];
    requests.iter().for_each(|request| process.send(request));
    let mut answered = 0;
    while answered < requests.len() {
        match next(process) {
            Answer::Refused { request, error: said, .. } => {
                assert_eq!(said, error, "{request:?}");
                let asked = |it: &Request| format!("{it:?}") == format!("{request:?}");
                answered += usize::from(requests.iter().any(asked));
            }
            Answer::Started { arn } => assert!(acknowledged.contains(&arn), "late: {arn}"),
            other => panic!("{other:?}"),
        }
    }
}

/// With room again, everything that was acknowledged is there and runs to its end.
fn nothing_is_lost(process: &mut Process, acknowledged: &HashSet<String>) {
    ready(process);
    for arn in acknowledged {
        process.send(&Request::Watch { arn: arn.clone() });
    }
    let mut left = acknowledged.clone();
    while !left.is_empty() {
        match next(process) {
            Answer::Ended { arn, end: End::Succeeded(_) } => {
                left.remove(&arn);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A limit on the size of files stands in for a full disk where no file system can be mounted.
#[test]
fn an_engine_whose_files_cannot_grow_says_so_and_loses_nothing() {
    let home = Home::new();
    ready(&mut home.process());
    let mut command = Command::new("sh");
    // In blocks of 512 bytes, or of 1,024: at most 4 MiB for each file.
    let script = "trap '' XFSZ; ulimit -f 4096; exec \"$@\"";
    command.args(["-c", script, "sh", PROGRAM]).arg(home.store()).arg(home.witness());
    let mut process = Process::run(&mut command);
    ready(&mut process);
    let (acknowledged, error) = start_until_failure(&mut process, 20_000);
    assert!(error.contains("File too large"), "{error}");
    assert!(error.contains(&home.store().display().to_string()), "{error}");
    answers_everything(&mut process, &acknowledged, &error);
    let (_, errors) = process.kill();
    assert_eq!(errors, "", "nothing panics");
    nothing_is_lost(&mut home.process(), &acknowledged);
}

/// The last bytes of a disk may be enough to start, or not.
fn starts_or_says_why_not(mut process: Process) {
    let started = process.answer(Instant::now() + PATIENCE).is_ok();
    let (_, errors) = if started { process.kill() } else { (Vec::new(), process.left().1) };
    assert!(started || errors.starts_with("error: "), "{errors}");
    assert!(!errors.contains("panicked"), "{errors}");
}

/// A small file system of its own, where the test may mount one.
struct Small {
    path: PathBuf,
}

impl Small {
    fn mount(path: PathBuf) -> Option<Self> {
        fs::create_dir(&path).expect("a directory");
        mount(&["-t", "tmpfs", "-o", "size=24m", "tmpfs"], &path).then_some(Self { path })
    }

    fn grow(&self) {
        assert!(mount(&["-o", "remount,size=256m"], &self.path), "it grows");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.path).status();
    }
}

fn mount(arguments: &[&str], path: &Path) -> bool {
    let mut command = Command::new("mount");
    let status = command.args(arguments).arg(path).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn an_engine_whose_disk_is_full_says_so_and_loses_nothing() {
    let home = Home::new();
    let Some(disk) = Small::mount(home.directory.path().join("disk")) else {
        println!("skipped: a file system cannot be mounted here");
        return;
    };
    let store = disk.path.join("store");
    let mut process = Process::start(PROGRAM, &store, &home.witness());
    ready(&mut process);
    let (acknowledged, error) = start_until_failure(&mut process, 20_000);
    assert!(error.contains("No space left on device"), "{error}");
    assert!(error.contains("make room"), "{error}");
    answers_everything(&mut process, &acknowledged, &error);
    let (_, errors) = process.kill();
    assert_eq!(errors, "", "nothing panics");

    starts_or_says_why_not(Process::start(PROGRAM, &store, &home.witness()));
    disk.grow();
    nothing_is_lost(&mut Process::start(PROGRAM, &store, &home.witness()), &acknowledged);
}

#[test]
fn a_second_engine_on_a_directory_names_the_first_and_leaves_it_alone() {
    let home = Home::new();
    let mut first = home.process();
    ready(&mut first);
    finish_some(&mut first, 0..10);
    let (status, errors) = home.process().left();
    assert!(!status.success());
    let expected = format!(
        "error: the store in {} is in use by process {}: stop that process, or use another \
         directory\n",
        home.store().display(),
        first.pid()
    );
    assert_eq!(errors, expected);
    finish_some(&mut first, 10..20);
    let (status, errors) = first.finish();
    assert!(status.success() && errors.is_empty(), "{errors}");
}

/// Every file of a store, with its size.
fn files(directory: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("readable").flatten() {
        let file = entry.metadata().expect("readable");
        if file.is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push((entry.path(), file.len()));
        }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("writable");
    for (path, _) in files(from) {
        let target = to.join(path.strip_prefix(from).expect("it is inside"));
        fs::create_dir_all(target.parent().expect("it is inside")).expect("writable");
        fs::copy(&path, &target).expect("copied");
    }
}

/// Starts an engine on a damaged store: it says clearly that it cannot, or nothing is missing.
fn check(home: &Home, damaged: &Path, what: &str) {
    let mut process = Process::start(PROGRAM, damaged, &home.witness());
    let opened = process.answer(Instant::now() + PATIENCE).is_ok();
    if !opened {
        let (status, errors) = process.left();
        assert!(!status.success(), "{what}");
        // A panic inside the store's library is caught and reported; the library prints it too.
        let reported = errors.lines().any(|line| line.starts_with("error: "));
        assert!(reported, "{what}: {errors}");
        return;
    }
    let (status, errors) = process.finish();
    assert!(status.success(), "{what}: {errors}");
    let reader = check::reader(harness::store(damaged).expect("it was open"));
    let list = ListId::of(&harness::machine_arn(MACHINE));
    let listed = check::listed(&reader, list, None);
    let whole = listed.as_ref().is_ok_and(|all| all.len() == 20)
        && (0..20).all(|n| reader.events(ExecutionId::of(&arn(n))).is_ok_and(|all| all.len() > 10));
    // What cannot be read must be an error, not a shorter list.
    assert!(whole || listed.is_err(), "{what}: {listed:?}");
}

#[test]
fn a_damaged_store_is_refused_or_whole() {
    let home = Home::new();
    let mut process = home.process();
    ready(&mut process);
    finish_some(&mut process, 0..20);
    let (status, errors) = process.finish();
    assert!(status.success(), "{errors}");
    let store = home.store();
    for (index, (file, bytes)) in files(&store).into_iter().enumerate() {
        let name = file.strip_prefix(&store).expect("it is inside").to_owned();
        for flip in [true, false] {
            let damaged = home.directory.path().join(format!("damaged-{index}-{flip}"));
            copy(&store, &damaged);
            let mut content = fs::read(&file).expect("readable");
            // fjall makes a journal longer than what it holds: the damage must hit what was written.
            let written = content.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            if bytes == 0 || written == 0 {
                continue;
            }
            if flip {
                content[written / 2] ^= 0x10;
            } else {
                content.truncate(written / 2);
            }
            fs::write(damaged.join(&name), content).expect("writable");
            check(&home, &damaged, &format!("{} {flip}", name.display()));
            fs::remove_dir_all(&damaged).expect("removed");
        }
    }
}
