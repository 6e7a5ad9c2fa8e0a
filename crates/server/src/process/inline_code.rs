//! Code that stands in a configuration itself becomes a file, as Lambda does it: `index.py` or `index.js`.

use std::fs;
use std::path::{Path, PathBuf};

use everstep_config::model::{Function, Runtime};

/// The folder with the code of a function. If it cannot be written, the function fails to start and says which file is
/// missing.
pub(super) fn folder(data: &Path, function: &Function, code: &str) -> PathBuf {
    let folder = data.join("inline").join(&function.name);
    let file = folder.join(match function.runtime {
        Runtime::Python { .. } => "index.py",
        _ => "index.js",
    });
    let is_written = fs::read_to_string(&file).is_ok_and(|written| written == code);
    if !is_written {
        let _ = fs::create_dir_all(&folder).and_then(|()| fs::write(&file, code));
    }
    folder
}
