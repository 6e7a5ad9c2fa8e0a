//! How many durable batches a second, beside what the disk itself can do.
//!
//! `cargo run --release -p everstep-store-embedded --example group_commit -- --rows 4 --bytes 700`
//!
//! Each batch puts rows with random keys. `--remove 1` lets it also remove a row of an earlier one,
//! `--insert 1` lets it expect that one of its rows is not there yet. The disk is measured in the same
//! directory and the same run: append as many bytes to a file, sync, again.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, process};

use everstep_store::{Batch, Shard, Space, Store};
use everstep_store_embedded::{EmbeddedStore, Options};
use rustix::time::{ClockId, clock_gettime};

fn main() {
    let flags = Flags::parse();
    let directory = tempfile::tempdir_in(&flags.directory).expect("a directory for the store");
    let Flags { rows, bytes, .. } = flags;
    println!(
        "{rows} rows of {bytes} bytes in {}, {} s each",
        directory.path().display(),
        flags.seconds
    );
    println!();
    println!("| | a second | p50 µs | p99 µs | max µs | CPU µs each |");
    println!("|---|---|---|---|---|---|");
    bare(directory.path(), &flags).print("append and sync a file");
    for in_flight in &flags.in_flight {
        let store = directory.path().join(in_flight.to_string());
        let measured = commits(&store, *in_flight, &flags);
        measured.print(&format!("commit, {in_flight} in flight"));
    }
    println!();
    println!("peak memory: {}", peak_memory());
}

struct Flags {
    directory: PathBuf,
    rows: usize,
    bytes: usize,
    remove: bool,
    insert: bool,
    seconds: u64,
    in_flight: Vec<usize>,
}

impl Flags {
    fn parse() -> Self {
        let mut flags = Self {
            directory: env::current_dir().expect("a directory to work in"),
            rows: 4,
            bytes: 700,
            remove: false,
            insert: true,
            seconds: 5,
            in_flight: vec![1, 64, 1024],
        };
        let mut words = env::args().skip(1);
        while let Some(flag) = words.next() {
            let value = words.next();
            if value.and_then(|value| flags.set(&flag, &value)).is_none() {
                eprintln!(
                    "{flag} is not a flag, or has no good value; flags: --directory PATH \
                     --rows N --bytes N --remove 0|1 --insert 0|1 --seconds N --in-flight N,N"
                );
                process::exit(2);
            }
        }
        flags
    }

    fn set(&mut self, flag: &str, value: &str) -> Option<()> {
        match flag {
            "--directory" => self.directory = value.into(),
            "--rows" => self.rows = value.parse().ok()?,
            "--bytes" => self.bytes = value.parse().ok()?,
            "--remove" => self.remove = value == "1",
            "--insert" => self.insert = value == "1",
            "--seconds" => self.seconds = value.parse().ok()?,
            "--in-flight" => {
                let numbers = value.split(',').map(|number| number.parse().ok());
                self.in_flight = numbers.collect::<Option<_>>()?;
            }
            _ => return None,
        }
        Some(())
    }
}

/// What a run has shown.
struct Measured {
    latencies: Vec<Duration>,
    elapsed: Duration,
    cpu: Duration,
}

impl Measured {
    fn print(mut self, what: &str) {
        self.latencies.sort_unstable();
        let count = self.latencies.len();
        let at = |share: f64| self.latencies[((count - 1) as f64 * share) as usize].as_micros();
        let rate = count as f64 / self.elapsed.as_secs_f64();
        let cpu = self.cpu.as_secs_f64() * 1e6 / count as f64;
        println!("| {what} | {rate:.0} | {} | {} | {} | {cpu:.1} |", at(0.5), at(0.99), at(1.0));
    }
}

fn cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn bare(directory: &Path, flags: &Flags) -> Measured {
    let mut file = File::create(directory.join("bare")).expect("a file");
    let bytes = vec![b'x'; flags.rows * flags.bytes];
    let (begin, cpu_begin) = (Instant::now(), cpu());
    let mut latencies = Vec::new();
    while begin.elapsed() < Duration::from_secs(flags.seconds) {
        let sent = Instant::now();
        file.write_all(&bytes).and_then(|()| file.sync_data()).expect("the disk works");
        latencies.push(sent.elapsed());
    }
    Measured { latencies, elapsed: begin.elapsed(), cpu: cpu() - cpu_begin }
}

/// One thread that hands the next batch over whenever one is done.
fn commits(path: &Path, in_flight: usize, flags: &Flags) -> Measured {
    let store = EmbeddedStore::open(path, &Options::default()).unwrap_or_else(|e| panic!("{e}"));
    let mut batches = Batches::new(flags);
    let (sender, receiver) = mpsc::channel();
    let send = |batch: Batch| {
        let (sender, sent) = (sender.clone(), Instant::now());
        let done = move |outcome: everstep_store::Result<()>| {
            outcome.expect("commits");
            sender.send(sent.elapsed()).expect("somebody measures");
        };
        store.commit(batch, Box::new(done));
    };
    let (begin, cpu_begin) = (Instant::now(), cpu());
    (0..in_flight).for_each(|_| send(batches.next()));
    let mut latencies = Vec::new();
    let mut waiting = in_flight;
    while waiting > 0 {
        latencies.push(receiver.recv().expect("every batch is done"));
        if begin.elapsed() < Duration::from_secs(flags.seconds) {
            send(batches.next());
        } else {
            waiting -= 1;
        }
    }
    Measured { latencies, elapsed: begin.elapsed(), cpu: cpu() - cpu_begin }
}

struct Batches<'f> {
    flags: &'f Flags,
    seed: u64,
    /// A text in which every value is found, each at another place.
    text: Vec<u8>,
    /// The last row of each shard.
    old: [Option<(Space, Vec<u8>)>; 16],
}

impl<'f> Batches<'f> {
    fn new(flags: &'f Flags) -> Self {
        let mut batches = Self { flags, seed: 1, text: Vec::new(), old: Default::default() };
        while batches.text.len() < 64 * 1024 + flags.bytes {
            let number = batches.random();
            let field =
                format!("{{\"id\":\"{number:016x}\",\"amount\":{},\"ok\":true}},", number % 1000);
            batches.text.extend_from_slice(field.as_bytes());
        }
        batches
    }

    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }

    fn next(&mut self) -> Batch {
        const SPACES: [Space; 4] =
            [Space::Executions, Space::Journal, Space::Wakes, Space::Journal];
        let execution = self.random().to_be_bytes();
        let shard = Shard(u16::from(execution[7] % 16));
        let mut batch = Batch::new(shard);
        for row in 0..self.flags.rows {
            let key = [&execution[..], &(row as u64).to_be_bytes()].concat();
            let from = (self.random() % (64 * 1024)) as usize;
            let value = self.text[from..from + self.flags.bytes].to_vec();
            let space = SPACES[row % SPACES.len()];
            if row == 0 && self.flags.insert {
                batch.insert(space, key, value);
            } else {
                batch.put(space, key, value);
            }
        }
        if self.flags.remove {
            let last = batch.writes.last().map(|write| (write.space, write.key.clone()));
            let old = std::mem::replace(&mut self.old[usize::from(shard.0)], last);
            old.into_iter().for_each(|(space, key)| batch.remove(space, key));
        }
        batch
    }
}

fn peak_memory() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "not known here".to_owned(), |peak| peak.trim().to_owned())
}
