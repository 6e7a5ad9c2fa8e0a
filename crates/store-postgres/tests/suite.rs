//! The suite that every store passes, on a real PostgreSQL.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use everstep_store::Store;
use everstep_store::suite::Subject;
use everstep_store_postgres::{Address, Options, PostgresStore};

/// A database, and the store that was opened last.
struct Postgres {
    url: String,
    shards: u16,
    last: Weak<PostgresStore>,
}

impl Postgres {
    fn new(parameters: &str) -> Option<Self> {
        let url = format!("{}{parameters}", everstep_test_postgres::shared()?.new_url());
        Some(Self { url, shards: 4, last: Weak::new() })
    }
}

impl Subject for Postgres {
    fn open(&mut self) -> Arc<dyn Store> {
        let address = Address::read(&self.url).expect("a URL");
        let options = || Options {
            shards: self.shards,
            lease: Duration::from_millis(300),
            ..Options::default()
        };
        // On a busy machine the last beat of the process before may arrive late: try as whoever restarts it would.
        let deadline = Instant::now() + Duration::from_secs(60);
        let store = loop {
            match PostgresStore::open(address.clone(), options()) {
                Ok(store) => break Arc::new(store),
                Err(error) if Instant::now() > deadline => panic!("{error}"),
                Err(error) if error.to_string().contains("in use by another server") => {}
                Err(error) => panic!("{error}"),
            }
        };
        self.last = Arc::downgrade(&store);
        store
    }

    /// The shards stay claimed, by a process that lives but does not beat.
    fn crash(&mut self, store: Arc<dyn Store>) {
        self.last.upgrade().expect("it is the last").abandon();
        drop(store);
    }
}

/// As `everstep_store::suite!`, where there is a PostgreSQL.
macro_rules! suite {
    ($parameters:expr) => {
        struct Subject(Option<crate::Postgres>);

        impl everstep_store::suite::Subject for Subject {
            fn open(&mut self) -> std::sync::Arc<dyn everstep_store::Store> {
                match &mut self.0 {
                    Some(postgres) => postgres.open(),
                    // Skipped: said by what looks for PostgreSQL.
                    None => std::sync::Arc::new(everstep_store::MemoryStore::new(4)),
                }
            }

            fn lasts(&self) -> bool {
                self.0.is_some()
            }

            fn crash(&mut self, store: std::sync::Arc<dyn everstep_store::Store>) {
                if let Some(postgres) = &mut self.0 {
                    postgres.crash(store);
                }
            }
        }

        everstep_store::suite!(Subject(crate::Postgres::new($parameters)));
    };
}

mod by_default {
    suite!("");
}

mod without_prepared_statements {
    suite!("&prepare=off");
}
