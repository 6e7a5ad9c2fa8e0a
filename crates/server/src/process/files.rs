//! The files of a project: which of them are watched, and which have changed.
//!
//! Functions write files too, often beside their code. So not every file in a folder of code is watched:
//! - code is, by the extension of its name or because it is executable;
//! - data that code may read when it loads (`.json`, `.yaml`, ...) is, if it existed when the server was started:
//!   a file that appears later was written by a function;
//! - nothing else is, in particular no hidden file, no file that records are written to, and not the data
//!   directory of the server.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::hash::{Hash as _, Hasher as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders that are not watched.
const IGNORED: [&str; 4] = ["node_modules", "__pycache__", "target", "venv"];
const DEPTH_MAX: usize = 8;

const CODE: [&str; 20] = [
    "py", "pyi", "js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "rb", "sh", "bash", "pl",
    "php", "lua", "so", "node", "wasm", "jar",
];
const DATA: [&str; 16] = [
    "json",
    "yaml",
    "yml",
    "toml",
    "ini",
    "cfg",
    "conf",
    "properties",
    "xml",
    "html",
    "tmpl",
    "j2",
    "sql",
    "graphql",
    "proto",
    "pem",
];

/// The state of a file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Stamp {
    bytes: u64,
    changed: Option<SystemTime>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Code,
    Data,
    Other,
}

/// Which files are watched besides code.
#[derive(Debug, Default)]
pub(super) struct Rule {
    /// Data files that existed when the server was started.
    data: BTreeSet<PathBuf>,
    /// The data directory of the server.
    data_directory: PathBuf,
}

/// Files and folders to watch. Paths are absolute.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Read to load the project: watched whatever their names are.
    pub(super) read: BTreeSet<PathBuf>,
    /// Where the code of functions is.
    pub(super) code: BTreeSet<PathBuf>,
    /// Files that records are written to: not watched.
    pub(super) written: BTreeSet<PathBuf>,
}

/// The state of all watched files at a moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Snapshot {
    read: BTreeMap<PathBuf, Option<Stamp>>,
    code: BTreeMap<PathBuf, Stamp>,
}

impl Rule {
    /// For a server that is started now.
    pub(super) fn new(places: &Places, data_directory: &Path) -> Self {
        let mut data = BTreeSet::new();
        for folder in &places.code {
            walk(folder, 0, &mut |path, metadata| {
                if sort(path, metadata) == Sort::Data {
                    data.insert(path.to_owned());
                }
            });
        }
        Self { data, data_directory: absolute(data_directory) }
    }

    pub(super) fn look(&self, places: &Places) -> Snapshot {
        let mut code = BTreeMap::new();
        for folder in &places.code {
            walk(folder, 0, &mut |path, metadata| {
                if self.is_watched(path, metadata, places) {
                    code.insert(path.to_owned(), Stamp::of(metadata));
                }
            });
        }
        let stamp = |path: &PathBuf| fs::metadata(path).ok().as_ref().map(Stamp::of);
        Snapshot {
            read: places.read.iter().map(|path| (path.clone(), stamp(path))).collect(),
            code,
        }
    }

    fn is_watched(&self, path: &Path, metadata: &Metadata, places: &Places) -> bool {
        if places.read.contains(path)
            || places.written.contains(path)
            || path.starts_with(&self.data_directory)
        {
            return false;
        }
        match sort(path, metadata) {
            Sort::Code => true,
            Sort::Data => self.data.contains(path),
            Sort::Other => false,
        }
    }
}

impl Snapshot {
    /// A number that changes when the code in a folder changes.
    pub(super) fn code_state(&self, folder: &Path) -> u64 {
        let mut hasher = DefaultHasher::new();
        for file in self.code.iter().filter(|(path, _)| path.starts_with(folder)) {
            file.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Files that were added, removed or changed.
    pub(super) fn changes(&self, before: &Self) -> Vec<PathBuf> {
        let mut changed = differences(&before.read, &self.read);
        changed.extend(differences(&before.code, &self.code));
        changed
    }

    pub(super) fn has_other_code(&self, before: &Self) -> bool {
        self.code != before.code
    }
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self { bytes: metadata.len(), changed: metadata.modified().ok() }
    }
}

fn differences<T: PartialEq>(
    before: &BTreeMap<PathBuf, T>,
    now: &BTreeMap<PathBuf, T>,
) -> Vec<PathBuf> {
    let paths: BTreeSet<&PathBuf> = before.keys().chain(now.keys()).collect();
    paths.into_iter().filter(|path| before.get(*path) != now.get(*path)).cloned().collect()
}

fn sort(path: &Path, metadata: &Metadata) -> Sort {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let ending = ending.to_ascii_lowercase();
    if CODE.contains(&&*ending) || metadata.permissions().mode() & 0o111 != 0 {
        Sort::Code
    } else if DATA.contains(&&*ending) {
        Sort::Data
    } else {
        Sort::Other
    }
}

fn walk(folder: &Path, depth: usize, found: &mut dyn FnMut(&Path, &Metadata)) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with('.') || IGNORED.contains(&name) {
            continue;
        }
        let Ok(metadata) = fs::metadata(&path) else { continue };
        if !metadata.is_dir() {
            found(&path, &metadata);
        } else if depth < DEPTH_MAX {
            walk(&path, depth + 1, found);
        }
    }
}

/// The canonical path of a file, whether it exists or not.
pub(super) fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let in_folder = || Some(path.parent()?.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(in_folder).unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: [&str; 5] = ["app.py", "prices.json", "run", "old.log", "everstep.yaml"];

    /// What is seen to change when files are written, of which those of `BEFORE` were there at the start.
    fn check(written: &[&str], expected: &[&str]) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = absolute(temporary.path());
        let at = |name: &&str| folder.join(name);
        for path in BEFORE.iter().map(at) {
            fs::write(path, "old").unwrap();
        }
        fs::set_permissions(at(&"run"), fs::Permissions::from_mode(0o755)).unwrap();
        let places = Places {
            read: BTreeSet::from([at(&"everstep.yaml")]),
            code: BTreeSet::from([folder.clone()]),
            written: BTreeSet::from([at(&"dead.py")]),
        };
        let rule = Rule::new(&places, &folder.join("state"));
        let before = rule.look(&places);
        for path in written.iter().map(at) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "otherwise").unwrap();
        }
        let now = rule.look(&places);
        let expected: Vec<PathBuf> = expected.iter().map(at).collect();
        assert_eq!(now.changes(&before), expected, "{written:?}");
        let code = expected.iter().any(|path| !places.read.contains(path));
        assert_eq!(now.has_other_code(&before), code, "{written:?}");
        assert_eq!(now.code_state(&folder) != before.code_state(&folder), code);
        assert_eq!(now.code_state(&at(&"elsewhere")), before.code_state(&at(&"elsewhere")));
    }

    #[test]
    fn code_counts() {
        check(&[], &[]);
        check(&["app.py"], &["app.py"]);
        check(&["lib/new.MJS"], &["lib/new.MJS"]);
        check(&["run"], &["run"]);
        check(&["app.py", "lib/new.js"], &["app.py", "lib/new.js"]);
    }

    #[test]
    fn what_functions_write_does_not() {
        check(&["new.json", "old.log", "new.db", "lib/new.txt", "plain"], &[]);
        check(&["dead.py", "state/x.py", ".cache/x.py", "node_modules/x.js", "venv/x.py"], &[]);
    }

    #[test]
    fn data_that_were_there_count() {
        check(&["prices.json"], &["prices.json"]);
    }

    #[test]
    fn what_is_read_counts_and_is_no_code() {
        check(&["everstep.yaml"], &["everstep.yaml"]);
    }

    #[test]
    fn a_file_has_one_path() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path().canonicalize().unwrap();
        fs::create_dir(folder.join("a")).unwrap();
        let check = |path: &str, expected: &str| {
            assert_eq!(absolute(&temporary.path().join(path)), folder.join(expected));
        };
        check("a", "a");
        check("a/../a/./x.py", "a/x.py");
        check("no/x.py", "no/x.py");
    }

    #[test]
    fn a_file_that_is_gone_has_changed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app.rb");
        fs::write(&file, "x").unwrap();
        let code = BTreeSet::from([folder.path().to_owned()]);
        let places = Places {
            code,
            read: BTreeSet::from([file.with_extension("yaml")]),
            ..Places::default()
        };
        let rule = Rule::new(&places, Path::new("/nowhere"));
        let before = rule.look(&places);
        fs::remove_file(&file).unwrap();
        assert_eq!(rule.look(&places).changes(&before), [file]);
    }
}
