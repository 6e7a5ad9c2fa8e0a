//! What to tell when the store cannot go on: what happened, what it means, what to do.

use std::io;
use std::path::Path;

use everstep_store::Error;

use crate::rows::Fault;

/// A commit did not come about.
pub(crate) fn commit(directory: &Path, fault: &Fault) -> Error {
    let what = match fault {
        // fjall keeps the reason to itself; a full disk is by far the most frequent one.
        Fault::Fjall(fjall::Error::Poisoned) => {
            "an earlier write in the background failed".to_owned()
        }
        other => describe(other),
    };
    failed(directory, &what, advice(fault.io()))
}

/// The mark cannot be written.
pub(crate) fn mark(directory: &Path, error: &io::Error) -> Error {
    failed(directory, &format!("the high-water mark: {error}"), advice(Some(error)))
}

/// The thread that writes is gone.
pub(crate) fn stopped(directory: &Path) -> Error {
    failed(directory, "the writing thread has panicked", "start again, and report the panic")
}

/// A row cannot be read.
pub(crate) fn read(directory: &Path, fault: &Fault) -> Error {
    let directory = directory.display();
    let what = describe(fault);
    Error::Damaged(
        format!(
            "cannot read from the store in {directory}: {what}; a file is damaged or cannot be \
             opened: check the disk, and restore a whole copy of the directory if it is damaged"
        )
        .into(),
    )
}

fn failed(directory: &Path, what: &str, advice: &str) -> Error {
    let free = free(directory);
    let directory = directory.display();
    Error::Failed(
        format!(
            "cannot write to the store in {directory}: {what}{free}; nothing that was acknowledged \
             is lost; {advice}"
        )
        .into(),
    )
}

fn advice(error: Option<&io::Error>) -> &'static str {
    match error.map(io::Error::kind) {
        Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => {
            "make room and start again"
        }
        Some(io::ErrorKind::FileTooLarge) => {
            "lift the limit on the size of files (ulimit -f) and start again"
        }
        Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) => {
            "make the directory writable and start again"
        }
        _ => "make sure that the disk works and has room, and start again",
    }
}

/// How much room there is, where the system says so.
fn free(directory: &Path) -> String {
    let Ok(stat) = rustix::fs::statvfs(directory) else { return String::new() };
    format!(" ({} KiB free)", stat.f_bavail.saturating_mul(stat.f_frsize) / 1024)
}

pub(crate) fn describe(fault: &Fault) -> String {
    match (fault, fault.io()) {
        (_, Some(error)) => error.to_string(),
        (Fault::Fjall(error), None) => format!("{error:?}"),
        (Fault::Missing(space), None) => format!("the rows of {space} are missing"),
        (Fault::Panic(text), None) => format!("fjall panicked: {text}"),
    }
}

impl Fault {
    pub(crate) fn io(&self) -> Option<&io::Error> {
        match self {
            Self::Fjall(
                fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)),
            ) => Some(error),
            _ => None,
        }
    }
}
