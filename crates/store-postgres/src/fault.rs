//! What goes wrong with a statement, by what is done about it.

use std::error::Error as _;
use std::fmt;

use tokio_postgres::Error;
use tokio_postgres::error::{DbError, SqlState};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection is of no use any more, and nobody knows whether the statement happened.
    Lost(String),
    /// Nothing happened; it may work in a moment.
    Passing(String),
    /// Nothing happened: a pooler between us and the server mixes up prepared statements.
    Mixed(String),
    /// Nothing happened, and it will not unless somebody does something.
    Refused(String),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Lost(what) | Self::Passing(what) | Self::Mixed(what) | Self::Refused(what)) =
            self;
        f.write_str(what)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let what = describe(&error);
        match error.as_db_error() {
            Some(error) => of_database(error, what),
            None => Self::Lost(what),
        }
    }
}

fn of_database(error: &DbError, what: String) -> Fault {
    // A session that ends is said to have failed in a way that ends it.
    if matches!(error.severity(), "FATAL" | "PANIC") {
        return Fault::Lost(what);
    }
    match error.code() {
        // `statement::GUARD`, a statement that is not there, one that is there already, and parameters that do
        // not fit.
        code if *code == SqlState::INVALID_ROW_COUNT_IN_LIMIT_CLAUSE
            || *code == SqlState::INVALID_SQL_STATEMENT_NAME
            || *code == SqlState::DUPLICATE_PSTATEMENT
            || *code == SqlState::PROTOCOL_VIOLATION =>
        {
            Fault::Mixed(what)
        }
        // The server is a standby now: another may accept writes.
        code if *code == SqlState::READ_ONLY_SQL_TRANSACTION => Fault::Lost(what),
        code => match code.code().get(..2) {
            // Connection exceptions; what an operator ended.
            Some("08" | "57") if *code != SqlState::QUERY_CANCELED => Fault::Lost(what),
            // Conflicts, resources, locks, cancelled, the server's system.
            Some("40" | "53" | "55" | "57" | "58") => Fault::Passing(what),
            _ => Fault::Refused(what),
        },
    }
}

/// The server's own words with their code, or what the client met.
pub(crate) fn describe(error: &Error) -> String {
    match error.as_db_error() {
        Some(error) => {
            let detail = error.detail().map_or_else(String::new, |detail| format!("; {detail}"));
            format!("{}{detail} (SQLSTATE {})", error.message(), error.code().code())
        }
        None => match error.source() {
            Some(source) => source.to_string(),
            None => error.to_string(),
        },
    }
}
