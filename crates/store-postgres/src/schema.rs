//! The tables: made when they are missing, brought up to date, and refused when they are not ours.
//!
//! Whoever changes tables holds the row of `meta`, or is the one whose schema was created first: of several
//! servers that start at once, one migrates and the others find it done.

use everstep_store::Space;
use uuid::Uuid;

use crate::fault::Fault;
use crate::session::Session;
use crate::statement::{SCHEMA, table};

/// Raised with every change that is not just a new space.
const VERSION: u32 = 1;
/// Rounds of looking and migrating before giving up: each is lost only to another server that migrates.
const ROUNDS: usize = 5;

/// What a database holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Meta {
    /// Drawn when the tables were made.
    pub(crate) cluster: Uuid,
    pub(crate) shards: u16,
}

enum Found {
    Nothing,
    /// Tables of an earlier version, or without some spaces.
    Old,
    Current(Meta),
}

/// Looks at the tables, and makes those that are missing. A new database gets `shards` shards.
///
/// # Errors
///
/// Why the database cannot be used, and what to do.
pub(crate) async fn prepare(session: &Session, shards: u16) -> Result<Meta, Fault> {
    for _ in 0..ROUNDS {
        let migration = match look(session).await? {
            Found::Current(meta) => return Ok(meta),
            Found::Nothing => creation(shards, Uuid::new_v4(), Uuid::new_v4()),
            Found::Old => upgrade(),
        };
        match session.script(&migration).await {
            Ok(_) => {}
            // Another server was faster.
            Err(Fault::Refused(what)) if what.contains("already exists") => {}
            Err(Fault::Refused(what)) if what.contains("23505") => {}
            Err(Fault::Refused(what)) => return Err(Fault::Refused(denied(&what))),
            Err(fault) => return Err(fault),
        }
    }
    Err(Fault::Passing("other servers keep changing the tables".to_owned()))
}

fn denied(what: &str) -> String {
    format!(
        "{what}: the tables must be made or changed by a role that may: start once with such a role, or GRANT \
         CREATE ON DATABASE to this one"
    )
}

async fn look(session: &Session) -> Result<Found, Fault> {
    let question = format!(
        "SELECT to_regnamespace('{SCHEMA}') IS NOT NULL, EXISTS (SELECT FROM pg_class \
         WHERE relname = 'meta' AND relnamespace = to_regnamespace('{SCHEMA}'))"
    );
    let answer = session.script(&question).await?;
    let is = |at: usize| answer.first().is_some_and(|row| row[at].as_deref() == Some("t"));
    match (is(0), is(1)) {
        (false, _) => Ok(Found::Nothing),
        (true, true) => read(session).await,
        (true, false) => Err(Fault::Refused(format!(
            "the schema {SCHEMA} is there but is not everstep's (it has no table meta): use another database"
        ))),
    }
}

async fn read(session: &Session) -> Result<Found, Fault> {
    let question = format!("SELECT schema, spaces, shards, cluster FROM {SCHEMA}.meta");
    let rows = session.script(&question).await.map_err(|fault| match fault {
        Fault::Refused(what) => Fault::Refused(format!(
            "{what}: GRANT USAGE ON SCHEMA {SCHEMA} and SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN it to this \
             role, or use another database if the schema {SCHEMA} is not everstep's"
        )),
        other => other,
    })?;
    let row: Option<[String; 4]> = rows.into_iter().next().and_then(|row| {
        let row: Option<Vec<String>> = row.into_iter().collect();
        row?.try_into().ok()
    });
    let parsed = row.and_then(|[version, spaces, shards, cluster]| {
        let (version, spaces): (u32, usize) = (version.parse().ok()?, spaces.parse().ok()?);
        let meta = Meta { cluster: cluster.parse().ok()?, shards: shards.parse().ok()? };
        Some((version, spaces, meta))
    });
    let Some((version, spaces, meta)) = parsed else {
        return Err(Fault::Refused(format!(
            "{SCHEMA}.meta has no row that can be read: the tables were not made to the end, or by something else"
        )));
    };
    if version > VERSION || spaces > Space::ALL.len() {
        return Err(Fault::Refused(format!(
            "the tables are of a later version of everstep (schema {version} with {spaces} spaces; this one knows \
             schema {VERSION} with {}): use that version",
            Space::ALL.len()
        )));
    }
    let is_current = version == VERSION && spaces == Space::ALL.len();
    Ok(if is_current { Found::Current(meta) } else { Found::Old })
}

/// Everything, in one transaction.
fn creation(shards: u16, cluster: Uuid, claim: Uuid) -> String {
    let last = i32::from(shards) - 1;
    let spaces = Space::ALL.len();
    let tables: String = Space::ALL.into_iter().map(|space| space_table(space, "")).collect();
    format!(
        "CREATE SCHEMA {SCHEMA};\n{tables}\
         CREATE TABLE {SCHEMA}.owners (shard int2 PRIMARY KEY, epoch int8 NOT NULL, claim uuid NOT NULL, \
         node uuid, offered uuid);\n\
         CREATE TABLE {SCHEMA}.nodes (node uuid PRIMARY KEY, name text NOT NULL, process text NOT NULL, \
         address text, state int2 NOT NULL, beat int8 NOT NULL, wire_min int2 NOT NULL, wire_max int2 NOT NULL, \
         config bytea) WITH (fillfactor = 10);\n\
         CREATE TABLE {SCHEMA}.meta (one bool PRIMARY KEY CHECK (one), cluster uuid NOT NULL, \
         shards int2 NOT NULL, schema int4 NOT NULL, spaces int2 NOT NULL, wire int4 NOT NULL);\n\
         INSERT INTO {SCHEMA}.owners SELECT shard, 0, '{claim}' FROM generate_series(-1, {last}) shard;\n\
         INSERT INTO {SCHEMA}.meta VALUES (true, '{cluster}', {shards}, {VERSION}, {spaces}, 1);\n"
    )
}

/// Adds what is missing, in one transaction.
fn upgrade() -> String {
    let spaces = Space::ALL.len();
    let missing: String =
        Space::ALL.into_iter().map(|space| space_table(space, "IF NOT EXISTS ")).collect();
    format!(
        "SELECT 1 FROM {SCHEMA}.meta FOR UPDATE;\n{missing}\
         UPDATE {SCHEMA}.meta SET schema = {VERSION}, spaces = {spaces} \
         WHERE schema <= {VERSION} AND spaces <= {spaces};\n"
    )
}

fn space_table(space: Space, unless: &str) -> String {
    format!(
        "CREATE TABLE {unless}{} (shard int2, key bytea, value bytea NOT NULL, PRIMARY KEY (shard, key)){};\n",
        table(space),
        storage(space)
    )
}

/// How the rows of a space are kept: room in pages where rows change, and frequent vacuuming where they come
/// and go. A new space that says nothing is kept as usual.
fn storage(space: Space) -> &'static str {
    match space {
        Space::Executions | Space::Invocations => " WITH (fillfactor = 50)",
        Space::Lists | Space::Wakes | Space::Closed | Space::Outbox | Space::InvocationOrders => {
            " WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0)"
        }
        _ => "",
    }
}
