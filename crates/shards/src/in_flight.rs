//! What each thread works on now, noted where the death of the process leaves it.
//!
//! A panic is caught, an abort or a kill is not. The next start finds here who was being worked on, and counts it against
//! them ([`crate::Quarantine`]).

use std::cell::Cell;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Something that an engine works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Subject {
    /// Which engine: its own number, not 0.
    pub kind: u8,
    pub id: [u8; 16],
}

/// Notes are not made durable: they survive the process, not the machine.
pub trait InFlight: Debug + Send + Sync {
    /// Called before this thread reads something or decides on it: if the process dies from now on, that may be why.
    fn begin(&self, subject: Subject);

    /// Called when this thread has nothing more to do for now.
    fn rest(&self);
}

/// Notes nothing: for engines whose processes leave nothing behind.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoNotes;

impl InFlight for NoNotes {
    fn begin(&self, _subject: Subject) {}

    fn rest(&self) {}
}

/// A small file with a record for each thread. A note is one write to the page cache, and none if the same subject is
/// noted already.
#[derive(Debug)]
pub struct InFlightFile {
    file: File,
    /// Tells this file's places from those of another in the same process.
    number: u64,
    next_place: AtomicU64,
}

/// No record crosses a page, so no record is torn.
const RECORD_BYTES: u64 = 32;
const EMPTY: [u8; RECORD_BYTES as usize] = [0; RECORD_BYTES as usize];

/// Where a thread has its record, and what that says.
#[derive(Debug, Clone, Copy)]
struct Place {
    file: u64,
    at: u64,
    noted: Option<Subject>,
}

thread_local! {
    static PLACE: Cell<Option<Place>> = const { Cell::new(None) };
}

impl InFlightFile {
    /// Opens the file, and says who was being worked on when the last process that used it died. They stay in the file
    /// until [`Self::clear`].
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub fn open(path: &Path) -> io::Result<(Self, Vec<Subject>)> {
        static FILES: AtomicU64 = AtomicU64::new(0);
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let mut found: Vec<Subject> =
            bytes.chunks_exact(RECORD_BYTES as usize).filter_map(parsed).collect();
        found.sort_unstable();
        found.dedup();
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        Ok((Self { file, number, next_place: AtomicU64::new(0) }, found))
    }

    /// Forgets who was found. Called once that is recorded elsewhere, and before anybody is noted.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn clear(&self) -> io::Result<()> {
        self.file.set_len(0)
    }

    fn place(&self) -> Place {
        let known = PLACE.get().filter(|place| place.file == self.number);
        known.unwrap_or_else(|| {
            let at = self.next_place.fetch_add(RECORD_BYTES, Ordering::Relaxed);
            Place { file: self.number, at, noted: None }
        })
    }

    fn note(&self, subject: Option<Subject>) {
        let place = self.place();
        if place.noted != subject {
            // Without the note the next start knows less, and nothing else is wrong.
            let _ = self.file.write_all_at(&subject.map_or(EMPTY, record), place.at);
        }
        PLACE.set(Some(Place { noted: subject, ..place }));
    }
}

impl InFlight for InFlightFile {
    fn begin(&self, subject: Subject) {
        self.note(Some(subject));
    }

    fn rest(&self) {
        self.note(None);
    }
}

fn record(subject: Subject) -> [u8; RECORD_BYTES as usize] {
    let mut record = EMPTY;
    record[0] = subject.kind;
    record[1] = !subject.kind;
    record[16..].copy_from_slice(&subject.id);
    record
}

fn parsed(bytes: &[u8]) -> Option<Subject> {
    let id = bytes.get(16..)?.try_into().ok()?;
    let subject = Subject { kind: bytes[0], id };
    (subject.kind != 0 && record(subject) == bytes).then_some(subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(byte: u8) -> Subject {
        Subject { kind: 1, id: [byte; 16] }
    }

    fn path(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("everstep-{name}-{}", std::process::id()))
    }

    /// Threads that note what they do and end, as a process that dies leaves their notes.
    fn work(file: &InFlightFile, notes: &[&[Option<u8>]]) {
        std::thread::scope(|scope| {
            for thread in notes {
                scope.spawn(|| {
                    for note in *thread {
                        match note {
                            Some(byte) => file.begin(subject(*byte)),
                            None => file.rest(),
                        }
                    }
                });
            }
        });
    }

    #[test]
    fn the_next_process_finds_who_was_being_worked_on() {
        let path = path("in-flight");
        let check = |notes: &[&[Option<u8>]], expected: &[u8]| {
            let (file, _) = InFlightFile::open(&path).expect("it opens");
            file.clear().expect("it is cleared");
            work(&file, notes);
            let (_, found) = InFlightFile::open(&path).expect("it opens");
            let expected: Vec<Subject> = expected.iter().copied().map(subject).collect();
            assert_eq!(found, expected, "{notes:?}");
        };
        check(&[], &[]);
        check(&[&[Some(1)]], &[1]);
        check(&[&[Some(1), None]], &[]);
        check(&[&[Some(1), Some(2)]], &[2]);
        check(&[&[Some(1), Some(1), None, Some(3)], &[Some(2), None], &[Some(5)]], &[3, 5]);
        check(&[&[Some(4)], &[Some(4)]], &[4]);
        std::fs::remove_file(&path).expect("it is removed");
    }

    #[test]
    fn what_is_no_record_names_nobody() {
        let path = path("in-flight-odd");
        std::fs::write(&path, [0xab; 100]).expect("written");
        let (_, found) = InFlightFile::open(&path).expect("it opens");
        assert_eq!(found, []);
        std::fs::remove_file(&path).expect("it is removed");
    }
}
