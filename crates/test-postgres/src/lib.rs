//! A real PostgreSQL for tests: one server in a folder of its own, by an ordinary user, that is gone when the test
//! process is, however that ends.
//!
//! Where PostgreSQL is missing it is installed with `apt-get`. Where that is not possible, tests are skipped with
//! a message, unless `EVERSTEP_REQUIRE_POSTGRES` is set, as `cargo xtask test` does.
//! `EVERSTEP_POSTGRES_BIN` names the folder of another version's programs.

mod install;
mod server;

use std::sync::OnceLock;

pub use install::program;
pub use server::{Auth, Server, Settings};

/// A server that all tests of a process share; none where there is no PostgreSQL.
pub fn shared() -> Option<&'static Server> {
    static SHARED: OnceLock<Option<Server>> = OnceLock::new();
    SHARED.get_or_init(|| Server::start(&Settings::default())).as_ref()
}
