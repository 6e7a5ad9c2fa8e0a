//! Why a store is not opened. Each message says what was found, what it means and what to do.

use std::path::{Path, PathBuf};
use std::{fmt, io};

#[derive(Debug)]
pub enum OpenError {
    /// Another process has the store open.
    InUse { directory: PathBuf, pid: Option<u32> },
    /// There is none, and none is to be made.
    Missing { directory: PathBuf },
    /// The directory holds something else.
    NotAStore { directory: PathBuf },
    /// A version of this program that is not known made the store.
    UnknownFormat { directory: PathBuf, found: String },
    /// The store has lost acknowledged work: it ends before the last commit that was acknowledged.
    Behind { directory: PathBuf, store: u64, mark: u64 },
    /// The store has lost acknowledged work, or nobody can tell: a journal or the mark is damaged.
    Lost { directory: PathBuf, what: String },
    /// A file without which nothing can be read is damaged or missing.
    Damaged { directory: PathBuf, what: String },
    /// A file cannot be read or written.
    Io { path: PathBuf, error: io::Error },
}

/// What to do about a loss.
fn advice(directory: &Path) -> String {
    let directory = directory.display();
    format!(
        "restore a whole copy of the directory, or continue without the missing work: `everstep store accept-loss \
         {directory}`"
    )
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InUse { directory, pid } => {
                write!(f, "the store in {} is in use by ", directory.display())?;
                match pid {
                    Some(pid) => write!(f, "process {pid}")?,
                    None => f.write_str("another process")?,
                }
                f.write_str(": stop that process, or use another directory")
            }
            Self::Missing { directory } => {
                write!(f, "there is no store in {} (it has no file FORMAT)", directory.display())
            }
            Self::NotAStore { directory } => write!(
                f,
                "{} is not empty and is not a store (it has no file FORMAT): use another directory",
                directory.display()
            ),
            Self::UnknownFormat { directory, found } => write!(
                f,
                "the store in {} has the format {found:?}, this program knows {:?}: use the version \
                 of the program that made it, or another directory",
                directory.display(),
                crate::directory::FORMAT_LINE
            ),
            Self::Behind { directory, store, mark } => write!(
                f,
                "the store in {} ends with commit {store}, but commit {mark} was acknowledged: a \
                 file was damaged, cut off or restored from an older copy; {}",
                directory.display(),
                advice(directory)
            ),
            Self::Lost { directory, what } => write!(
                f,
                "the store in {} may have lost acknowledged work: {what}; {}",
                directory.display(),
                advice(directory)
            ),
            Self::Damaged { directory, what } => write!(
                f,
                "the store in {} is damaged: {what}; check the disk and restore a whole copy of the \
                 directory",
                directory.display()
            ),
            Self::Io { path, error } => write!(f, "{}: {error}{}", path.display(), hint(error)),
        }
    }
}

fn hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            ": the directory of a store must be writable"
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            ": a store is kept in a directory, and this is a file: use another path"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ": make room and start again",
        _ => "",
    }
}

/// The message has all that is known of the error behind it.
impl std::error::Error for OpenError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_said_once_and_explained() {
        let check = |kind: io::ErrorKind, expected: &str| {
            let error = OpenError::Io { path: "/data".into(), error: kind.into() };
            assert_eq!(error.to_string(), format!("/data: {kind}{expected}"));
            assert!(std::error::Error::source(&error).is_none());
        };
        let file = ": a store is kept in a directory, and this is a file: use another path";
        check(io::ErrorKind::AlreadyExists, file);
        check(io::ErrorKind::NotADirectory, file);
        check(io::ErrorKind::PermissionDenied, ": the directory of a store must be writable");
        check(io::ErrorKind::StorageFull, ": make room and start again");
        check(io::ErrorKind::Interrupted, "");
    }
}
