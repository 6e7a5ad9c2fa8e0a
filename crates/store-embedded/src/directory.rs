//! The directory of a store: whose it is, what it holds, and what must be so before it is used.
//!
//! `lock` says which process has it open, `FORMAT` what it is, `high-water` how far it had come, and
//! `rows` belongs to fjall.

use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::{fmt, process};

use everstep_store::Space;
use xxhash_rust::xxh3::xxh3_64;

use crate::journals::Trouble;
use crate::mark::MarkFile;
use crate::rows::{Fault, Rows, SPACES_AT_FIRST};
use crate::{OpenError, Options, failure, files, journals};

pub(crate) const FORMAT_LINE: &str = "everstep store, format 1";
const MAKING_LINE: &str = "everstep store, being made";

const FORMAT: &str = "FORMAT";
const FORMAT_NEW: &str = "FORMAT.new";
const LOCK: &str = "lock";
const MARK: &str = "high-water";
const ROWS: &str = "rows";

type Result<T> = std::result::Result<T, OpenError>;

/// A directory that is ready to be written to.
pub(crate) struct Directory {
    pub(crate) path: PathBuf,
    pub(crate) shards: u16,
    pub(crate) rows: Rows,
    pub(crate) mark: MarkFile,
    /// The number of the last commit.
    pub(crate) number: u64,
    pub(crate) lock: Lock,
}

/// What FORMAT says.
enum Format {
    /// There is none, and nothing else either.
    Empty,
    /// The process that made the store did not finish; nothing was ever acknowledged.
    Making,
    Made {
        shards: u16,
        /// Spaces that it has been made with, or been given since.
        spaces: usize,
    },
}

impl Directory {
    pub(crate) fn open(path: &Path, options: &Options) -> Result<Self> {
        let path = std::path::absolute(path).map_err(io_error(path))?;
        if options.create {
            fs::create_dir_all(&path).map_err(io_error(&path))?;
        }
        // Before the lock, which is a file too: nothing is written to somebody else's directory.
        match format(&path) {
            Ok(Format::Empty) if !options.create => {
                return Err(OpenError::Missing { directory: path });
            }
            Err(OpenError::Io { error, .. })
                if !options.create && error.kind() == io::ErrorKind::NotFound =>
            {
                return Err(OpenError::Missing { directory: path });
            }
            other => other?,
        };
        let lock = Lock::take(&path)?;
        match format(&path)? {
            Format::Made { shards, spaces } => Self::open_made(path, shards, spaces, options, lock),
            Format::Empty | Format::Making => Self::make(path, options, lock),
        }
    }

    /// FORMAT comes last: a store whose making was interrupted is made again from the start.
    fn make(path: PathBuf, options: &Options, lock: Lock) -> Result<Self> {
        write_format(&path, MAKING_LINE)?;
        let rows = path.join(ROWS);
        if rows.exists() {
            fs::remove_dir_all(&rows).map_err(io_error(&rows))?;
        }
        let mark = make_mark(&path, 0)?;
        let rows = Rows::create(&rows, options).map_err(fault(&path))?;
        let number = first_commit(&path, &rows, 0)?;
        write_made(&path, options.shards)?;
        path.parent().map(sync_directory).transpose().map_err(io_error(&path))?;
        Ok(Self { path, shards: options.shards, rows, mark, number, lock })
    }

    fn open_made(
        path: PathBuf,
        shards: u16,
        spaces: usize,
        options: &Options,
        lock: Lock,
    ) -> Result<Self> {
        let rows_path = path.join(ROWS);
        // fjall numbers keyspaces from one; its own is zero, and one is for the store itself.
        files::check(&rows_path, spaces + 1).map_err(|trouble| match trouble {
            Trouble::Io { path, error } => OpenError::Io { path, error },
            Trouble::Damaged(what) => damaged(&path, what),
        })?;
        let (mark, marked) = match open_mark(&path) {
            Ok((mark, marked)) => (Some(mark), marked),
            Err(OpenError::Lost { .. }) if options.accept_loss => (None, 0),
            Err(error) => return Err(error),
        };
        let journaled = match journals::inspect(&rows_path).map_err(trouble(&path)) {
            Err(OpenError::Lost { .. }) if options.accept_loss => None,
            other => other?,
        };
        let behind = |store| OpenError::Behind { directory: path.clone(), store, mark: marked };
        // Before fjall opens them, and cuts off what it cannot read.
        if let Some(store) = journaled.filter(|store| *store < marked && !options.accept_loss) {
            return Err(behind(store));
        }
        let rows = Rows::open(&rows_path, options, spaces).map_err(fault(&path))?;
        let number = rows.number().map_err(fault(&path))?.unwrap_or(0);
        if options.accept_loss {
            // Nothing may depend on journals with gaps any longer.
            rows.flush().map_err(fault(&path))?;
        } else if number < marked {
            return Err(behind(number));
        } else if let Some(journaled) = journaled.filter(|journaled| *journaled != number) {
            let what = format!("its journals end with commit {journaled}, its rows with {number}");
            return Err(OpenError::Lost { directory: path, what });
        }
        let number = first_commit(&path, &rows, number)?;
        if spaces < Space::ALL.len() {
            write_made(&path, shards)?;
        }
        let mark = match mark.filter(|_| number > marked) {
            Some(mark) => mark,
            None => make_mark(&path, number)?,
        };
        Ok(Self { path, shards, rows, mark, number, lock })
    }
}

fn make_mark(path: &Path, number: u64) -> Result<MarkFile> {
    let file = path.join(MARK);
    MarkFile::create(&file, number).map_err(io_error(&file))
}

/// The mark and its number. A store whose making was finished has one.
fn open_mark(path: &Path) -> Result<(MarkFile, u64)> {
    let file = path.join(MARK);
    let lost = |what: &str| {
        let what = format!("{} {what}, so nobody knows how far it had come", file.display());
        OpenError::Lost { directory: path.to_owned(), what }
    };
    match MarkFile::open(&file) {
        Ok((mark, Some(number))) => Ok((mark, number)),
        Ok((_, None)) => Err(lost("cannot be read")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(lost("is missing")),
        Err(error) => Err(OpenError::Io { path: file, error }),
    }
}

fn trouble(directory: &Path) -> impl FnOnce(Trouble) -> OpenError {
    let directory = directory.to_owned();
    move |trouble| match trouble {
        Trouble::Io { path, error } => OpenError::Io { path, error },
        Trouble::Damaged(what) => OpenError::Lost { directory, what },
    }
}

/// Commits nothing but a number: shows that the store can be written before anybody relies on it.
fn first_commit(path: &Path, rows: &Rows, number: u64) -> Result<u64> {
    rows.changes(number + 1, 0).commit().map_err(fault(path))?;
    Ok(number + 1)
}

fn format(path: &Path) -> Result<Format> {
    let file = path.join(FORMAT);
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return empty(path),
        Err(error) => return Err(OpenError::Io { path: file, error }),
    };
    let mut lines = text.lines();
    match lines.next().unwrap_or_default() {
        MAKING_LINE => Ok(Format::Making),
        FORMAT_LINE => {
            let shards = lines.next().and_then(|line| line.strip_prefix("shards ")?.parse().ok());
            let what = || format!("{} does not say how many shards there are", file.display());
            let shards = shards.ok_or_else(|| damaged(path, what()))?;
            let spaces = spaces(shards, lines.next(), &text);
            let what = || format!("{} is not as it was written", file.display());
            let spaces = spaces.ok_or_else(|| damaged(path, what()))?;
            if spaces > Space::ALL.len() {
                let found = format!("{FORMAT_LINE} with {spaces} spaces");
                return Err(OpenError::UnknownFormat { directory: path.to_owned(), found });
            }
            Ok(Format::Made { shards, spaces })
        }
        other => {
            Err(OpenError::UnknownFormat { directory: path.to_owned(), found: other.to_owned() })
        }
    }
}

/// Whether a directory without FORMAT may become a store.
fn empty(path: &Path) -> Result<Format> {
    for entry in fs::read_dir(path).map_err(io_error(path))? {
        let name = entry.map_err(io_error(path))?.file_name();
        // The first two are left by a making that had hardly begun, the last is every ext4's.
        if ![LOCK, FORMAT_NEW, "lost+found"].iter().any(|known| name == *known) {
            return Err(OpenError::NotAStore { directory: path.to_owned() });
        }
    }
    Ok(Format::Empty)
}

/// How many spaces there must be, by the line that says so; none if the text is damaged.
fn spaces(shards: u16, line: Option<&str>, text: &str) -> Option<usize> {
    match line {
        None => Some(SPACES_AT_FIRST),
        Some(line) => {
            let spaces = line.strip_prefix("spaces ")?.parse().ok()?;
            (text.trim_end() == made(shards, spaces)).then_some(spaces)
        }
    }
}

fn write_made(path: &Path, shards: u16) -> Result<()> {
    write_format(path, &made(shards, Space::ALL.len()))
}

/// A wrong number would show another store: so the text has a checksum.
fn made(shards: u16, spaces: usize) -> String {
    let text = format!("{FORMAT_LINE}\nshards {shards}\nspaces {spaces}");
    format!("{text}\nchecksum {:016x}", xxh3_64(text.as_bytes()))
}

fn write_format(path: &Path, text: &str) -> Result<()> {
    let (new, file) = (path.join(FORMAT_NEW), path.join(FORMAT));
    let write = || {
        let mut written = File::create(&new)?;
        writeln!(written, "{text}")?;
        written.sync_all()?;
        fs::rename(&new, &file)?;
        sync_directory(path)
    };
    write().map_err(io_error(&file))
}

fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Held while the store is open; the system lets go of it when the process ends, however it ends.
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    fn take(directory: &Path) -> Result<Self> {
        let path = directory.join(LOCK);
        let options =
            File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = options.map_err(io_error(&path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                let mut text = String::new();
                let _ = file.read_to_string(&mut text);
                let pid = text.trim().parse().ok();
                return Err(OpenError::InUse { directory: directory.to_owned(), pid });
            }
            Err(fs::TryLockError::Error(error)) => return Err(OpenError::Io { path, error }),
        }
        let mut write = || {
            file.set_len(0)?;
            file.rewind()?;
            writeln!(file, "{}", process::id())
        };
        write().map_err(io_error(&path))?;
        Ok(Self { _file: file })
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    move |error| OpenError::Io { path, error }
}

fn damaged(directory: &Path, what: impl fmt::Display) -> OpenError {
    OpenError::Damaged { directory: directory.to_owned(), what: what.to_string() }
}

fn fault(directory: &Path) -> impl FnOnce(Fault) -> OpenError {
    let directory = directory.to_owned();
    move |fault| match fault {
        Fault::Fjall(fjall::Error::Io(error)) => OpenError::Io { path: directory, error },
        Fault::Fjall(fjall::Error::Locked) => OpenError::InUse { directory, pid: None },
        other => damaged(&directory, failure::describe(&other)),
    }
}

#[cfg(test)]
mod tests {
    use everstep_store::{Shard, Write};

    use super::*;

    /// A directory as it was made when there were seven spaces.
    fn made_before(path: &Path) {
        Rows::create_as_at_first(&path.join(ROWS)).expect("made");
        drop(make_mark(path, 1).expect("made"));
        write_format(path, &format!("{FORMAT_LINE}\nshards 3")).expect("written");
    }

    #[test]
    fn a_store_that_was_made_before_a_space_is_given_it_once() {
        let directory = tempfile::TempDir::new().expect("made");
        let path = directory.path();
        made_before(path);
        let options = Options::default();
        let opened = Directory::open(path, &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(opened.shards, 3);
        let (space, key) = (Space::InvocationOrders, b"key".to_vec());
        let mut changes = opened.rows.changes(opened.number + 1, 1);
        changes.add(Shard(1), Write { space, key: key.clone(), value: Some(b"value".to_vec()) });
        changes.commit().expect("written");
        drop(opened);
        let format = fs::read_to_string(path.join(FORMAT)).expect("a format");
        assert_eq!(format, made(3, Space::ALL.len()) + "\n");
        let again = Directory::open(path, &options).unwrap_or_else(|error| panic!("{error}"));
        let value = again.rows.get(Shard(1), space, &key).expect("read");
        assert_eq!(value.as_deref(), Some(b"value".as_slice()));
        let old = again.rows.get(Shard(1), Space::Catalog, b"old").expect("read");
        assert_eq!(old.as_deref(), Some(b"row".as_slice()));
        drop(again);
        // Now that the directory says so, it must be there.
        fs::remove_dir_all(path.join(ROWS).join("keyspaces").join("10")).expect("removed");
        let error = Directory::open(path, &options).err().expect("a refusal");
        assert!(matches!(error, OpenError::Damaged { .. }), "{error}");
    }

    #[test]
    fn a_store_with_spaces_of_a_later_version_is_refused() {
        let directory = tempfile::TempDir::new().expect("made");
        made_before(directory.path());
        write_format(directory.path(), &made(3, Space::ALL.len() + 1)).expect("written");
        let error = Directory::open(directory.path(), &Options::default()).err();
        assert!(matches!(error, Some(OpenError::UnknownFormat { .. })), "{error:?}");
    }
}
