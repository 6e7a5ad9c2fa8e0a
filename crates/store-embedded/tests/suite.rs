//! The suite that every store passes, as it is by default and with little memory.

use std::fs::{self, File};
use std::sync::Arc;

use everstep_store::Store;
use everstep_store::suite::Subject;
use everstep_store_embedded::{EmbeddedStore, Options};
use tempfile::TempDir;

struct Embedded {
    directory: TempDir,
    options: Options,
}

impl Embedded {
    fn new(options: Options) -> Self {
        Self { directory: tempfile::tempdir().expect("a directory"), options }
    }
}

impl Subject for Embedded {
    fn open(&mut self) -> Arc<dyn Store> {
        let store = EmbeddedStore::open(self.directory.path(), &self.options);
        Arc::new(store.unwrap_or_else(|error| panic!("{error}")))
    }

    /// The store is left as it is and its locks, which a crash would release, are made anew.
    fn crash(&mut self, store: Arc<dyn Store>) {
        std::mem::forget(store);
        let directory = self.directory.path();
        for lock in [directory.join("lock"), directory.join("rows/lock")] {
            fs::remove_file(&lock).expect("a lock");
            File::create(&lock).expect("a lock");
        }
    }
}

mod by_default {
    everstep_store::suite!(super::Embedded::new(super::Options::default()));
}

/// Rows leave memory and are merged all the time. A crash would have to stop that, so there is none:
/// a process of its own does it.
mod with_little_memory {
    use std::sync::Arc;

    use super::{Embedded, Options};
    use everstep_store::Store;
    use everstep_store::suite::Subject;

    struct Little(Embedded);

    impl Subject for Little {
        fn open(&mut self) -> Arc<dyn Store> {
            self.0.open()
        }
    }

    fn little() -> Little {
        let options = Options { memtable_bytes: 16 * 1024, ..Options::default() };
        Little(Embedded::new(Options { cache_bytes: 0, ..options }))
    }

    everstep_store::suite!(little());
}
