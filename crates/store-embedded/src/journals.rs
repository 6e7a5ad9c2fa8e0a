//! Reads fjall's journals before fjall does, and changes nothing.
//!
//! fjall ends at the first record of a journal that it cannot read, cuts the file off there and goes
//! on with the next journal: without an error, and with a gap if the journal was not the last one.
//! Commits are numbered, so here a gap shows, and it shows while all the bytes are still there.
//!
//! The layout is that of fjall 3: a start (tag 1, number of items, sequence number), the items (tag 2,
//! each with its keyspace, key and value), an end (tag 3, xxh3 of the items, magic bytes). The rest of
//! a file that was made ahead is zero.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::rows::COMMIT_KEY;

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const MAGIC: [u8; 4] = *b"FJL\x03";

/// A journal is made with this many zeros.
const NEW_BYTES: u64 = 64 * 1024 * 1024;

#[derive(Debug)]
pub(crate) enum Trouble {
    Io { path: PathBuf, error: io::Error },
    Damaged(String),
}

/// The number of the last commit in the journals below `rows`; none if they are new and hold nothing.
pub(crate) fn inspect(rows: &Path) -> Result<Option<u64>, Trouble> {
    let mut last = None;
    let mut unreadable = None;
    let journals = list(rows)?;
    for path in &journals {
        let before = last;
        let end = read(path, &mut last)?;
        if let Some((path, at)) = unreadable.filter(|_| last != before) {
            return Err(damaged(path, format!("it cannot be read beyond byte {at}")));
        }
        if let Some(later) = later(path, &end, last)? {
            let found = format!("it cannot be read at byte {}, but holds commit {later}", end.at);
            return Err(damaged(path, found));
        }
        // A write that failed may leave a part of a commit, also at the end of a journal that was then
        // replaced by a new one; no commit follows it.
        unreadable = unreadable.or((!end.is_clean).then_some((path, end.at)));
        if last.is_none() && end.length != NEW_BYTES {
            return Err(damaged(path, "it was cut off: it holds no commit"));
        }
    }
    match journals.is_empty() {
        true => Err(damaged(rows, "there is no journal")),
        false => Ok(last),
    }
}

/// Journals in the order in which they were written.
fn list(rows: &Path) -> Result<Vec<PathBuf>, Trouble> {
    let mut journals = Vec::new();
    for entry in fs::read_dir(rows).map_err(io_at(rows))? {
        let path = entry.map_err(io_at(rows))?.path();
        if path.extension().is_some_and(|extension| extension == "jnl") {
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse::<u64>().ok());
            let number = number.ok_or_else(|| damaged(&path, "it is not named by a number"))?;
            journals.push((number, path));
        }
    }
    journals.sort();
    Ok(journals.into_iter().map(|(_, path)| path).collect())
}

/// Where the readable part of a journal ends.
struct End {
    at: u64,
    length: u64,
    /// Nothing follows, or zeros.
    is_clean: bool,
}

/// Reads the commits of a journal; each must follow the one before.
fn read(path: &Path, last: &mut Option<u64>) -> Result<End, Trouble> {
    let mut reader = Reader::open(path).map_err(io_at(path))?;
    loop {
        let at = reader.at;
        match reader.commit().map_err(io_at(path))? {
            Found::Commit(number) => {
                if let Some(before) = last.filter(|before| before + 1 != number) {
                    let gap = format!("at byte {at}, commit {number} follows commit {before}");
                    return Err(damaged(path, gap));
                }
                *last = Some(number);
            }
            Found::Unnumbered => {
                return Err(damaged(path, format!("the commit at byte {at} has no number")));
            }
            Found::Nothing => {
                let is_clean = zeros(path, at).map_err(io_at(path))?;
                return Ok(End { at, length: reader.length, is_clean });
            }
        }
    }
}

/// A commit that follows something unreadable. The commit on its way when the process died may be
/// unreadable, but nothing can follow it: the next is written only when it is durable.
fn later(path: &Path, end: &End, last: Option<u64>) -> Result<Option<u64>, Trouble> {
    if end.is_clean {
        return Ok(None);
    }
    let mut rest = Vec::new();
    let mut file = File::open(path).map_err(io_at(path))?;
    file.seek(SeekFrom::Start(end.at)).map_err(io_at(path))?;
    file.read_to_end(&mut rest).map_err(io_at(path))?;
    let number = |at: usize| {
        let value = rest[at..].strip_prefix(COMMIT_KEY)?.first_chunk()?;
        Some(u64::from_be_bytes(*value))
    };
    let on_its_way = last.map_or(1, |last| last + 1);
    Ok((0..rest.len()).filter_map(number).find(|number| *number > on_its_way))
}

/// Whether only zeros follow.
fn zeros(path: &Path, at: u64) -> io::Result<bool> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(at))?;
    let (mut chunk, zeros) = (vec![0; 256 * 1024], vec![0; 256 * 1024]);
    loop {
        match file.read(&mut chunk)? {
            0 => return Ok(true),
            read if chunk[..read] != zeros[..read] => return Ok(false),
            _ => {}
        }
    }
}

enum Found {
    Commit(u64),
    /// A whole commit, but not one of ours.
    Unnumbered,
    /// Nothing, or nothing whole.
    Nothing,
}

struct Reader {
    file: BufReader<File>,
    at: u64,
    length: u64,
    hash: Xxh3,
    bytes: Vec<u8>,
}

impl Reader {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let file = BufReader::with_capacity(256 * 1024, file);
        Ok(Self { file, at: 0, length, hash: Xxh3::new(), bytes: Vec::new() })
    }

    fn commit(&mut self) -> io::Result<Found> {
        Ok(self.try_commit()?.unwrap_or(Found::Nothing))
    }

    fn try_commit(&mut self) -> io::Result<Option<Found>> {
        let Some([START, a, b, c, d, ..]) = self.take::<13>()? else { return Ok(None) };
        let mut number = None;
        self.hash.reset();
        for index in 0..u32::from_le_bytes([a, b, c, d]) {
            let Some(value_at) = self.item()? else { return Ok(None) };
            if index == 0 {
                let value = self.bytes.strip_prefix(COMMIT_KEY);
                let value = value.filter(|_| value_at == COMMIT_KEY.len());
                number = value.and_then(|value| Some(u64::from_be_bytes(value.try_into().ok()?)));
            }
        }
        let Some([END, checksum @ .., m, a, g, i]) = self.take::<13>()? else { return Ok(None) };
        let whole = [m, a, g, i] == MAGIC && checksum == self.hash.digest().to_le_bytes();
        Ok(whole.then(|| number.map_or(Found::Unnumbered, Found::Commit)))
    }

    /// Reads an item's key and value into `bytes`, and says where the value begins.
    fn item(&mut self) -> io::Result<Option<usize>> {
        let Some(head) = self.take::<21>()? else { return Ok(None) };
        if head[0] != ITEM {
            return Ok(None);
        }
        let key = u16::from_le_bytes([head[11], head[12]]);
        let value = u32::from_le_bytes([head[17], head[18], head[19], head[20]]);
        let bytes = u64::from(key) + u64::from(value);
        if self.at + bytes > self.length {
            return Ok(None);
        }
        self.bytes.clear();
        let read = (&mut self.file).take(bytes).read_to_end(&mut self.bytes)?;
        self.at += bytes;
        self.hash.update(&head);
        self.hash.update(&self.bytes);
        Ok((read as u64 == bytes).then_some(usize::from(key)))
    }

    fn take<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        if self.at + N as u64 > self.length {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(Some(bytes))
    }
}

pub(crate) fn damaged(path: &Path, what: impl AsRef<str>) -> Trouble {
    Trouble::Damaged(format!("{}: {}", path.display(), what.as_ref()))
}

pub(crate) fn io_at(path: &Path) -> impl Fn(io::Error) -> Trouble {
    let path = path.to_owned();
    move |error| Trouble::Io { path: path.clone(), error }
}

#[cfg(test)]
mod tests {
    use everstep_store::suite::commit;
    use everstep_store::{Batch, Shard, Space};
    use tempfile::TempDir;

    use super::*;
    use crate::{EmbeddedStore, Options};

    /// The commits 1 to 10 as fjall writes them.
    fn commits() -> Vec<Vec<u8>> {
        let directory = tempfile::tempdir().expect("a directory");
        let store = EmbeddedStore::open(directory.path(), &Options::default()).expect("opens");
        for number in 2..=10u8 {
            let mut batch = Batch::new(Shard(0));
            batch.put(Space::Journal, vec![number], vec![number; 5000]);
            batch.remove(Space::Wakes, vec![number]);
            commit(&store, batch).expect("commits");
        }
        drop(store);
        let path = directory.path().join("rows/0.jnl");
        let bytes = fs::read(&path).expect("the journal");
        let mut reader = Reader::open(&path).expect("the journal");
        let mut commits = Vec::new();
        loop {
            let from = reader.at as usize;
            match reader.commit().expect("reads") {
                Found::Commit(_) => commits.push(bytes[from..reader.at as usize].to_vec()),
                _ => return commits,
            }
        }
    }

    fn check(journals: &[&[u8]], expected: Result<Option<u64>, &str>) {
        let directory = TempDir::new().expect("a directory");
        for (number, bytes) in journals.iter().enumerate() {
            let path = directory.path().join(format!("{}.jnl", number + 9));
            fs::write(path, bytes).expect("a journal");
        }
        match (inspect(directory.path()), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected),
            (Err(Trouble::Damaged(what)), Err(expected)) => {
                assert!(what.contains(expected), "{what:?} does not contain {expected:?}");
            }
            (found, expected) => panic!("{found:?} instead of {expected:?}"),
        }
    }

    fn flipped(bytes: &[u8], at: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x10;
        bytes
    }

    #[test]
    fn whole_journals() {
        let commits = commits();
        assert_eq!(commits.len(), 10);
        let all = commits.concat();
        check(&[&all], Ok(Some(10)));
        check(&[&all, b""], Ok(Some(10)));
        check(&[&all[..all.len() - 1], b""], Ok(Some(9)));
        check(&[&[&all, &[0; 5000][..]].concat()], Ok(Some(10)));
        check(&[&commits[..4].concat(), &commits[4..].concat()], Ok(Some(10)));
        check(
            &[&[commits[..4].concat(), vec![0; 99]].concat(), &commits[4..].concat()],
            Ok(Some(10)),
        );
        check(&[&commits[7..].concat()], Ok(Some(10)));
        check(&[&vec![0; NEW_BYTES as usize]], Ok(None));
    }

    #[test]
    fn the_last_commit_may_be_torn() {
        let commits = commits();
        let (before, last) = (commits[..9].concat(), &commits[9]);
        for end in [1, 12, 13, 40, last.len() / 2, last.len() - 1] {
            check(&[&[&before, &last[..end]].concat()], Ok(Some(9)));
            let mut hole = last.clone();
            hole[end..].fill(0);
            check(&[&[&before[..], &hole[..], &[0; 5000][..]].concat()], Ok(Some(9)));
        }
        check(&[&[&before[..], &flipped(last, last.len() / 2)].concat()], Ok(Some(9)));
    }

    #[test]
    fn damage_before_the_end() {
        let commits = commits();
        let all = commits.concat();
        for at in (0..commits[..8].concat().len()).step_by(701) {
            check(&[&flipped(&all, at)], Err("but holds commit"));
        }
        check(&[&[&commits[..4], &commits[5..]].concat().concat()], Err("follows commit 4"));
    }

    #[test]
    fn damage_of_an_earlier_journal() {
        let commits = commits();
        let (first, second) = (commits[..5].concat(), commits[5..].concat());
        check(&[&flipped(&first, first.len() - 3), &second], Err("follows commit 4"));
        check(&[&first[..first.len() - 3], &second], Err("follows commit 4"));
        let torn = [&first, &commits[5][..50]].concat();
        check(&[&torn, &second], Err("cannot be read beyond"));
        check(&[&torn, b""], Ok(Some(5)));
        check(&[&commits[..4].concat(), &second], Err("follows commit 4"));
        check(&[&first, &commits[7..].concat()], Err("follows commit 5"));
    }

    #[test]
    fn what_is_not_there() {
        check(&[], Err("there is no journal"));
        check(&[b""], Err("cut off"));
        check(&[&[0; 100]], Err("cut off"));
    }
}
