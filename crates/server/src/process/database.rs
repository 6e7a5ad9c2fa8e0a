//! A server whose store is a database: the directory beside it, and what happens while the database is away.

use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use everstep_store::Store;
use everstep_store_postgres::{Address, OpenError, Options, PostgresStore};
use uuid::Uuid;

use super::error::{Context as _, Error, Result};
use super::frontend::Frontend;
use crate::admission::Admission;

/// The same file as the embedded store's: a directory is one server's.
const LOCK: &str = "lock";
/// Which database the directory belongs to: its cluster and its URL, without the password.
const DATABASE: &str = "database";
/// What an embedded store has.
const FORMAT: &str = "FORMAT";

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Keeps a data directory for this process.
pub(super) struct Lock {
    _file: File,
}

/// Opens the store in a database. The data directory remembers which it was: to start on another one by mistake
/// would look as if all work was lost.
pub(super) fn open(
    address: &Address,
    data: &Path,
    frontend: &Arc<dyn Frontend>,
) -> Result<(PostgresStore, Lock)> {
    let shown = data.display();
    if data.join(FORMAT).exists() {
        return Err(Error::new(format!(
            "{shown} has a store of its own, which --store does not use: use another directory with --data, or \
             start without --store"
        )));
    }
    if has_shown_password() {
        frontend.write(
            "warning: the password of the database is on the command line, where other users can read it: use a \
             password file, or EVERSTEP_STORE\n",
        );
    }
    let lock = lock(data)?;
    let file = data.join(DATABASE);
    let cluster = read(&file)?;
    let heard = frontend.clone();
    let notify = Box::new(move |line: &str| heard.write(&format!("{line}\n")));
    let options = Options { cluster, notify, ..Options::default() };
    let store = PostgresStore::open(address.clone(), options).map_err(|error| match error {
        OpenError::OtherCluster(what) => {
            Error::new(format!("{what}; if it is right, remove {}", file.display()))
        }
        other => other.into(),
    })?;
    if cluster.is_none() {
        let text = format!("cluster {}\n{address}\n", store.cluster());
        write(&file, &text).context(format_args!("cannot write {}", file.display()))?;
    }
    Ok((store, lock))
}

fn has_shown_password() -> bool {
    std::env::args().any(|argument| {
        let url = argument.strip_prefix("--store=").unwrap_or(&argument);
        Address::read(url).is_ok_and(|address| address.has_password())
    })
}

/// Refuses a directory that belongs to a database, where there is no URL of one.
pub(super) fn refuse_other(data: &Path) -> Result<()> {
    let file = data.join(DATABASE);
    let Ok(text) = fs::read_to_string(&file) else { return Ok(()) };
    let url = text.lines().nth(1).unwrap_or_default();
    Err(Error::new(format!(
        "{} belongs to the database {url}: start with --store, or use another directory with --data",
        data.display()
    )))
}

fn lock(data: &Path) -> Result<Lock> {
    let path = data.join(LOCK);
    let file = File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = file.context(format_args!("cannot open {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let by = fs::read_to_string(&path).unwrap_or_default();
            return Err(Error::new(format!(
                "{} is in use by process {}: stop that process, or use another directory with --data",
                data.display(),
                by.trim()
            )));
        }
        Err(TryLockError::Error(error)) => {
            return Err(Error::new(format!("cannot lock {}: {error}", path.display())));
        }
    }
    let mut note = || {
        file.set_len(0)?;
        writeln!(file, "{}", std::process::id())
    };
    note().context(format_args!("cannot write {}", path.display()))?;
    Ok(Lock { _file: file })
}

/// The cluster that a directory belongs to.
fn read(file: &Path) -> Result<Option<Uuid>> {
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::new(format!("cannot read {}: {error}", file.display()))),
    };
    let cluster = text.lines().next().and_then(|line| line.strip_prefix("cluster ")?.parse().ok());
    match cluster {
        Some(cluster) => Ok(Some(cluster)),
        None => Err(Error::new(format!(
            "{} does not say which cluster this directory belongs to: remove the file if the URL is right",
            file.display()
        ))),
    }
}

fn write(file: &Path, text: &str) -> std::io::Result<()> {
    let new = file.with_extension("new");
    let mut written = File::create(&new)?;
    written.write_all(text.as_bytes())?;
    written.sync_all()?;
    fs::rename(&new, file)
}

/// Refuses new work while the database cannot be used: it would only wait.
pub(super) async fn follow(store: Arc<dyn Store>, admission: Arc<Admission>) {
    let mut is_closed = false;
    loop {
        let trouble = store.trouble();
        match &trouble {
            Some(why) => {
                admission.close(&format!("new work is refused while the database is away: {why}"));
            }
            None if is_closed => admission.open(),
            None => {}
        }
        is_closed = trouble.is_some();
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_remembers_its_database() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(DATABASE);
        assert_eq!(read(&file).unwrap(), None);
        refuse_other(folder.path()).unwrap();
        let cluster = Uuid::new_v4();
        write(&file, &format!("cluster {cluster}\npostgres://a@b:1/c\n")).unwrap();
        assert_eq!(read(&file).unwrap(), Some(cluster));
        let message = refuse_other(folder.path()).unwrap_err().to_string();
        assert!(
            message.contains("belongs to the database postgres://a@b:1/c: start with --store"),
            "{message}"
        );
        write(&file, "something else").unwrap();
        read(&file).unwrap_err();
    }

    #[test]
    fn a_directory_is_one_servers() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path()).unwrap();
        let message = lock(folder.path()).err().unwrap().to_string();
        let expected = format!("is in use by process {}", std::process::id());
        assert!(message.contains(&expected), "{message}");
        drop(held);
        lock(folder.path()).map(drop).unwrap();
    }
}
