//! What others on the same machine cannot read: the memory and the environment of the server, which have access
//! keys and the secrets of the configuration, and its data directory.
//!
//! Other users are kept out of all of it. Functions are processes of the server's own user: they cannot read its
//! memory and environment, but they can read the files of their user.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;

use super::error::{Context as _, Result};
use super::frontend::Frontend;

/// Read, write and search for the owner.
const OWNER_ONLY: u32 = 0o700;
const OTHERS: u32 = 0o077;

/// Closes `/proc/PID/environ`, `mem`, `fd` and so on to everybody but root, functions included. The price: no core
/// dumps, and no debugger without root.
#[cfg(target_os = "linux")]
pub(super) fn hide_process(frontend: &dyn Frontend) {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
        frontend.write(&format!(
            "warning: functions can read the environment of this server: {error}\n"
        ));
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn hide_process(_frontend: &dyn Frontend) {}

/// Creates a data directory for its owner alone, and returns whether there is nothing in it. One that exists is
/// left as it is: it may not be a store.
pub(super) fn create_directory(path: &Path) -> Result<bool> {
    if path.exists() {
        return Ok(fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()));
    }
    let create = || {
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        DirBuilder::new().mode(OWNER_ONLY).create(path)
    };
    match create() {
        // Somebody was faster. Whether it is a store is for the store to say.
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        created => created.context(format_args!("cannot create {}", path.display())).map(|()| true),
    }
}

/// Takes the rights of others away from a data directory, once it is known to be one. If it had data that others
/// could read, that is logged: earlier versions created it for everybody.
pub(super) fn restrict_directory(path: &Path, is_new: bool, frontend: &dyn Frontend) {
    let Ok(metadata) = fs::metadata(path) else { return };
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OTHERS == 0 {
        return;
    }
    let less = mode & !OTHERS;
    let line = match fs::set_permissions(path, Permissions::from_mode(less)) {
        Ok(()) if is_new => return,
        Ok(()) => format!(
            "{} could be read by other users; now only by its owner (mode {mode:o} is {less:o})\n",
            path.display()
        ),
        Err(error) => format!(
            "warning: {} can be read by other users (mode {mode:o}), and that cannot be changed: {error}\n",
            path.display()
        ),
    };
    frontend.write(&line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_new_data_directory_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("above/data");
        assert!(create_directory(&data).unwrap());
        assert_eq!(mode(&data), 0o700);
        // Not before it is known what it is.
        fs::set_permissions(&data, Permissions::from_mode(0o755)).unwrap();
        fs::write(data.join("file"), "").unwrap();
        assert!(!create_directory(&data).unwrap());
        assert_eq!(mode(&data), 0o755);
    }
}
