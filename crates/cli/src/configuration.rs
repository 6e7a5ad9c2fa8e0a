//! Finds and reads configurations: files, and folders that contain one.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use anyhow::bail;
use everstep_config::{FILE_NAMES, Parameters, Parsed};

/// Far more than a configuration can have: an endless device must not fill the memory.
const READ_BYTES_MAX: u64 = 64 << 20;

/// The configuration of a folder, or the file itself.
pub(crate) fn locate(path: &Path) -> anyhow::Result<PathBuf> {
    if !path.exists() {
        bail!("file or folder `{}` not found", path.display());
    }
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    match in_folder(path) {
        Some(found) => Ok(found),
        None => bail!("no everstep.yaml or template.yaml in `{}`", path.display()),
    }
}

pub(crate) fn in_folder(folder: &Path) -> Option<PathBuf> {
    // The current folder is not part of the name.
    let folder = if folder == Path::new(".") { Path::new("") } else { folder };
    FILE_NAMES.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Reads the configuration that begins with this file.
pub(crate) fn read(entry: &Path, parameters: &Parameters) -> anyhow::Result<Parsed> {
    // A file that cannot be read is not a problem of the configuration.
    if let Err(error) = text(entry) {
        bail!("cannot read `{}`: {error}", entry.display());
    }
    let env = |name: &str| std::env::var(name).ok();
    Ok(everstep_config::read(entry, &mut text, &env, parameters))
}

fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(path)?.take(READ_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}
