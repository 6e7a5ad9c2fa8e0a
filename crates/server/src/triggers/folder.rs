//! Files that are put into a folder. A file is an item when it has not changed for a while, and is done when it is moved:
//! to `done`, or to `failed`.
//!
//! Files whose names begin with a dot or end with `.tmp` or `.part` are left alone, so who writes a file slowly can give it
//! its name at the end. Links and folders are left alone too.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use everstep_config::model as config;
use everstep_triggers::{Item, Outcome, Settled, iso};
use serde_json::json;

use super::source::{Source, Work};

/// Files of a folder that are looked at for one fetch.
const LOOKED_AT: usize = 10_000;

const UNFINISHED: [&str; 2] = [".tmp", ".part"];

/// Where files are, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Places {
    directory: PathBuf,
    pattern: Option<String>,
    stable: Duration,
    done: PathBuf,
    failed: PathBuf,
}

impl Places {
    pub(super) fn of(folder: &config::Folder) -> Self {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        Self {
            directory: absolute(&folder.directory),
            pattern: folder.pattern.clone(),
            stable: Duration::from_millis(folder.stable_ms),
            done: absolute(&folder.done),
            failed: absolute(&folder.failed),
        }
    }
}

pub(super) struct Folder {
    trigger: String,
    places: Places,
    seen: Arc<Mutex<Seen>>,
}

/// What is known in this life.
#[derive(Default)]
struct Seen {
    /// Files that were given and are not settled, by handle.
    given: HashMap<u64, PathBuf>,
    handles: u64,
    /// Files that may yet change: how they looked, and since when.
    changing: HashMap<PathBuf, (Look, SystemTime)>,
}

/// What changes when a file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    bytes: u64,
    modified: SystemTime,
}

impl Folder {
    pub(super) fn new(trigger: &str, places: Places) -> Self {
        Self { trigger: trigger.to_owned(), places, seen: Arc::default() }
    }
}

impl Source for Folder {
    fn fetch(&self, most: usize, _after: Option<String>) -> Work<Result<Vec<Item>, String>> {
        let (trigger, places, seen) =
            (self.trigger.clone(), self.places.clone(), self.seen.clone());
        Box::pin(async move {
            let read = move || {
                let items = fetch(&trigger, &places, &mut lock(&seen), most, SystemTime::now());
                items.map_err(|error| {
                    format!("the folder {} cannot be read: {error}", places.directory.display())
                })
            };
            tokio::task::spawn_blocking(read).await.unwrap_or_else(|_| Ok(Vec::new()))
        })
    }

    fn settle(&self, handle: u64, settled: Settled) -> Work<Result<(), String>> {
        let (places, seen) = (self.places.clone(), self.seen.clone());
        Box::pin(async move {
            let work = move || {
                let Some(path) = lock(&seen).given.remove(&handle) else { return Ok(()) };
                let moved = settle(&places, &path, &settled);
                moved.map_err(|error| {
                    format!("the file {} cannot be moved: {error}", path.display())
                })
            };
            tokio::task::spawn_blocking(work).await.unwrap_or(Ok(()))
        })
    }
}

/// The oldest files that are whole, in the order of their names.
fn fetch(
    trigger: &str,
    places: &Places,
    seen: &mut Seen,
    most: usize,
    now: SystemTime,
) -> io::Result<Vec<Item>> {
    let mut whole = Vec::new();
    let mut changing = HashMap::new();
    for entry in fs::read_dir(&places.directory)?.take(LOOKED_AT) {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        if !is_wanted(name, places.pattern.as_deref()) || seen.is_given(&path) {
            continue;
        }
        // A file may be gone by now.
        let Ok(Some(look)) = look(&path) else { continue };
        let since = match seen.changing.get(&path) {
            Some((before, since)) if *before == look => *since,
            _ => now,
        };
        if is_stable(&look, since, places.stable, now) {
            whole.push((name.to_owned(), path, look));
        } else {
            changing.insert(path, (look, since));
        }
    }
    seen.changing = changing;
    whole.sort();
    whole.truncate(most);
    Ok(whole.into_iter().map(|(name, path, look)| item(trigger, seen, &name, path, look)).collect())
}

impl PartialOrd for Look {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Look {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.modified, self.bytes).cmp(&(other.modified, other.bytes))
    }
}

impl Seen {
    fn is_given(&self, path: &Path) -> bool {
        self.given.values().any(|given| given == path)
    }
}

fn is_wanted(name: &str, pattern: Option<&str>) -> bool {
    let unfinished = name.starts_with('.') || UNFINISHED.iter().any(|end| name.ends_with(end));
    !unfinished && pattern.is_none_or(|pattern| matches(pattern, name))
}

/// Whether a name is as a pattern with `*` and `?` says.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // The star that was met last, and how much of the name it stands for.
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// None if it is not a plain file.
fn look(path: &Path) -> io::Result<Option<Look>> {
    let metadata: Metadata = fs::symlink_metadata(path)?;
    if !metadata.is_file() {
        return Ok(None);
    }
    Ok(Some(Look { bytes: metadata.len(), modified: metadata.modified()? }))
}

/// A file is whole when nobody has written to it for a while: by its own date, and as far as it was seen.
fn is_stable(look: &Look, since: SystemTime, stable: Duration, now: SystemTime) -> bool {
    let is_old = |at: SystemTime| now.duration_since(at).is_ok_and(|age| age >= stable);
    is_old(look.modified) || is_old(since)
}

fn item(trigger: &str, seen: &mut Seen, name: &str, path: PathBuf, look: Look) -> Item {
    let modified = look.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
    let event = json!({
        "trigger": trigger,
        "path": path,
        "name": name,
        "size": look.bytes,
        "modified": iso(i64::try_from(modified.as_millis()).unwrap_or(i64::MAX)),
    });
    seen.handles += 1;
    seen.given.insert(seen.handles, path);
    Item {
        // The same file is not processed twice; one that is replaced is another one.
        id: format!("{name}/{}/{}", modified.as_nanos(), look.bytes),
        payload: event.to_string().into_bytes(),
        unparseable: false,
        position: None,
        delivery_count: None,
        handle: seen.handles,
    }
}

/// Moves a file that is done. One that was refused stays, and is found again.
fn settle(places: &Places, path: &Path, settled: &Settled) -> io::Result<()> {
    let folder = match settled {
        Settled::Completed(Outcome::Succeeded) => &places.done,
        Settled::Completed(_) => &places.failed,
        Settled::Accepted { .. } | Settled::Refused(_) => return Ok(()),
    };
    fs::create_dir_all(folder)?;
    match fs::rename(path, free(folder, path)) {
        // Whoever has processed it has moved or removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        moved => moved,
    }
}

/// A name that is not taken: that of the file, or that with a number.
fn free(folder: &Path, path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let numbered = (1..u32::MAX).map(|number| folder.join(format!("{name}.{number}")));
    let mut names = std::iter::once(folder.join(&name)).chain(numbered);
    names.find(|free| fs::symlink_metadata(free).is_err()).unwrap_or_else(|| folder.join(&name))
}

fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct World {
        directory: tempfile::TempDir,
        places: Places,
        seen: Seen,
        now: SystemTime,
    }

    impl World {
        fn new() -> Self {
            let directory = tempfile::TempDir::new().expect("made");
            let inside = |name: &str| directory.path().join(name);
            let places = Places {
                directory: directory.path().to_owned(),
                pattern: None,
                stable: Duration::from_secs(2),
                done: inside("done"),
                failed: inside("failed"),
            };
            Self { places, directory, seen: Seen::default(), now: SystemTime::now() }
        }

        fn write(&self, name: &str, text: &str) {
            fs::write(self.directory.path().join(name), text).expect("written");
        }

        fn fetch(&mut self, most: usize) -> Vec<Item> {
            fetch("t", &self.places, &mut self.seen, most, self.now).expect("readable")
        }

        /// The names of the files that are found, so much later.
        fn names(&mut self, later_s: u64) -> Vec<String> {
            self.now += Duration::from_secs(later_s);
            let items = self.fetch(100);
            let name = |item: &Item| item.id.split('/').next().unwrap_or_default().to_owned();
            items.iter().map(name).collect()
        }

        fn files(&self, folder: &str) -> Vec<String> {
            let folder = self.directory.path().join(folder);
            let names =
                fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable"));
            let mut names: Vec<String> =
                names.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        }
    }

    #[test]
    fn a_file_is_found_when_it_is_whole_and_once() {
        let mut world = World::new();
        world.write("a", "1");
        assert_eq!(world.names(0), [""; 0], "it may yet change");
        assert_eq!(world.names(1), [""; 0]);
        assert_eq!(world.names(2), ["a"]);
        assert_eq!(world.names(5), [""; 0], "it was given");
    }

    #[test]
    fn a_file_that_grows_is_not_whole() {
        let mut world = World::new();
        // A clock of another machine dates it into the future.
        let later = world.now + Duration::from_secs(3600);
        let grow = |world: &World, text: &str| {
            world.write("a", text);
            let file = fs::File::options().write(true).open(world.directory.path().join("a"));
            file.expect("opened").set_modified(later).expect("dated");
        };
        grow(&world, "1");
        assert_eq!(world.names(0), [""; 0]);
        grow(&world, "12");
        assert_eq!(world.names(2), [""; 0]);
        grow(&world, "123");
        assert_eq!(world.names(2), [""; 0]);
        assert_eq!(world.names(2), ["a"]);
    }

    #[test]
    fn some_files_are_left_alone() {
        let mut world = World::new();
        for name in ["a.csv", ".hidden.csv", "b.csv.part", "c.tmp", "d.txt"] {
            world.write(name, "");
        }
        fs::create_dir(world.directory.path().join("e.csv")).expect("made");
        std::os::unix::fs::symlink("/etc/hostname", world.directory.path().join("f.csv"))
            .expect("made");
        world.places.pattern = Some("*.csv".to_owned());
        assert_eq!(world.names(10), ["a.csv"]);
    }

    #[test]
    fn a_file_is_moved_when_it_is_done() {
        let mut world = World::new();
        for name in ["a", "b", "c", "d"] {
            world.write(name, name);
        }
        world.now += Duration::from_secs(5);
        let failed = Outcome::Failed { error: "E".to_owned() };
        let ends = [
            Settled::Completed(Outcome::Succeeded),
            Settled::Completed(failed),
            Settled::Refused(everstep_triggers::Refused::Full),
            Settled::Completed(Outcome::Succeeded),
        ];
        let items = world.fetch(100);
        // Its function has moved it by itself.
        fs::remove_file(world.directory.path().join("d")).expect("removed");
        for (item, settled) in items.iter().zip(ends) {
            let path = world.seen.given.remove(&item.handle).expect("given");
            settle(&world.places, &path, &settled).expect("moved");
        }
        assert_eq!(
            (world.files("done"), world.files("failed")),
            (vec!["a".into()], vec!["b".into()])
        );
        assert_eq!(world.names(0), ["c"], "what was refused is found again");
        world.write("a", "another");
        world.now += Duration::from_secs(5);
        let item = world.fetch(100).remove(0);
        let path = world.seen.given.remove(&item.handle).expect("given");
        settle(&world.places, &path, &Settled::Completed(Outcome::Succeeded)).expect("moved");
        assert_eq!(world.files("done"), ["a", "a.1"]);
    }

    #[test]
    fn no_more_are_given_than_are_wanted() {
        let mut world = World::new();
        for name in ["c", "a", "b"] {
            world.write(name, "");
        }
        world.now += Duration::from_secs(5);
        assert_eq!(world.fetch(2).len(), 2);
        assert_eq!(world.names(0), ["c"]);
    }

    #[test]
    fn names_match_patterns() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        };
        check("*.csv", "a.csv", true);
        check("*.csv", ".csv", true);
        check("*.csv", "a.csv.gz", false);
        check("a?c*", "abcdef", true);
        check("a?c*", "ac", false);
        check("*a*b*", "xxaxxbxx", true);
        check("*a*b", "xxaxxbxx", false);
        check("", "", true);
        check("*", "é", true);
        check("?", "é", true);
        check(&"*a".repeat(30), &"a".repeat(2000), true);
        check(&("*a".repeat(30) + "b"), &"a".repeat(2000), false);
    }
}
