//! The high-water mark: the number of the last acknowledged commit, in a small file beside the rows.
//!
//! fjall drops the end of a journal that it cannot read and says nothing; without a second place that
//! knows how far the store had come, nobody would ever notice. The mark follows the commits at a
//! distance of about a second, in a thread of its own, so that no commit waits for it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How far the mark may be behind while commits happen.
const INTERVAL: Duration = Duration::from_secs(1);

/// Two places that never share a page: one of them is whole even if the other is torn.
const SLOTS: [u64; 2] = [0, 4096];

/// Twenty digits, a space, sixteen hexadecimal digits, a newline.
const LINE_BYTES: usize = 38;

/// The file.
pub(crate) struct MarkFile {
    file: File,
    /// The slot to write next: the one that does not hold the newest number.
    next: usize,
}

impl MarkFile {
    pub(crate) fn create(path: &Path, number: u64) -> io::Result<Self> {
        let mut mark = Self { file: File::create(path)?, next: 0 };
        mark.write(number)?;
        mark.write(number)?;
        mark.file.sync_all()?;
        Ok(mark)
    }

    /// The file and its number; no number if neither slot can be read.
    pub(crate) fn open(path: &Path) -> io::Result<(Self, Option<u64>)> {
        let mut file = File::options().read(true).write(true).open(path)?;
        let numbers = [read(&mut file, SLOTS[0])?, read(&mut file, SLOTS[1])?];
        let next = usize::from(numbers[0] >= numbers[1]);
        Ok((Self { file, next }, numbers.into_iter().max().flatten()))
    }

    fn write(&mut self, number: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(SLOTS[self.next]))?;
        self.file.write_all(line(number).as_bytes())?;
        self.file.sync_data()?;
        self.next = 1 - self.next;
        Ok(())
    }
}

fn line(number: u64) -> String {
    let digits = format!("{number:020}");
    format!("{digits} {:016x}\n", checksum(digits.as_bytes()))
}

fn read(file: &mut File, at: u64) -> io::Result<Option<u64>> {
    file.seek(SeekFrom::Start(at))?;
    let mut text = String::new();
    let read = file.take(LINE_BYTES as u64).read_to_string(&mut text);
    match read {
        Err(error) if error.kind() != io::ErrorKind::InvalidData => return Err(error),
        _ => {}
    }
    let number = text.get(..20).and_then(|digits| digits.parse().ok());
    Ok(number.filter(|number| line(*number) == text))
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The thread that keeps the file.
pub(crate) struct Mark {
    state: Arc<State>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct State {
    acknowledged: AtomicU64,
    /// The thread has nothing to do and sleeps until it is called.
    idle: AtomicBool,
    stopping: AtomicBool,
}

impl Mark {
    /// Keeps `file`, which holds `number` or less. `failed` is called if it can no longer be written.
    pub(crate) fn keep(
        file: MarkFile,
        number: u64,
        failed: impl FnOnce(io::Error) + Send + 'static,
    ) -> io::Result<Self> {
        let state = Arc::new(State {
            acknowledged: AtomicU64::new(number),
            idle: AtomicBool::new(false),
            stopping: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&state);
        let thread = thread::Builder::new().name("store mark".to_owned()).spawn(move || {
            if let Err(error) = for_thread.run(file) {
                failed(error);
            }
        })?;
        Ok(Self { state, thread: Mutex::new(Some(thread)) })
    }

    /// A commit is durable.
    pub(crate) fn acknowledge(&self, number: u64) {
        self.state.acknowledged.store(number, Ordering::SeqCst);
        if self.state.idle.swap(false, Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Writes the last number and ends the thread.
    pub(crate) fn stop(&self) {
        self.state.stopping.store(true, Ordering::SeqCst);
        self.wake();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A thread that panicked has said so.
        let _ = thread.map(JoinHandle::join);
    }

    fn wake(&self) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        thread.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.stop();
    }
}

impl State {
    fn run(&self, mut file: MarkFile) -> io::Result<()> {
        let mut written = None;
        loop {
            // In this order: what was acknowledged before the stop is written.
            let stopping = self.stopping.load(Ordering::SeqCst);
            let number = self.acknowledged.load(Ordering::SeqCst);
            if written != Some(number) {
                file.write(number)?;
                written = Some(number);
                self.rest(Instant::now() + INTERVAL);
            } else if stopping {
                return Ok(());
            } else {
                self.idle.store(true, Ordering::SeqCst);
                let seen = self.acknowledged.load(Ordering::SeqCst);
                if seen == number && !self.stopping.load(Ordering::SeqCst) {
                    thread::park();
                }
                self.idle.store(false, Ordering::SeqCst);
            }
        }
    }

    fn rest(&self, until: Instant) {
        while !self.stopping.load(Ordering::SeqCst) {
            let Some(left) = until.checked_duration_since(Instant::now()) else { return };
            thread::park_timeout(left);
        }
    }
}
