//! How a store is opened: connect, look at the tables, take the shards over.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use everstep_store::group::Queue;
use tokio::time::sleep;
use uuid::Uuid;

use crate::address::Address;
use crate::beat::Beat;
use crate::claim::{self, Node};
use crate::connect::{Backoff, Connections, NoConnection, Purpose};
use crate::fault::Fault;
use crate::health::{Health, Notify};
use crate::reads::{self, Reads};
use crate::schema::{self, Meta};
use crate::session::Session;
use crate::wait::wait;
use crate::writer::Writer;
use crate::{PostgresStore, Shared};

/// How a store is opened.
pub struct Options {
    /// How many shards a new database gets; one that exists keeps its own.
    pub shards: u16,
    /// The cluster that the database must be of, if that is known.
    pub cluster: Option<Uuid>,
    /// What this server is called in messages to others.
    pub name: String,
    /// A server whose beat does not change for so long is taken over from.
    pub lease: Duration,
    /// How long to wait for a database that does not answer when the store is opened.
    pub start_patience: Duration,
    /// How long the database may be out of reach before the store gives up.
    pub patience: Duration,
    /// Receives what the person who runs the store should know.
    pub notify: Box<Notify>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            shards: 64,
            cluster: None,
            name: format!("process {} on {}", std::process::id(), host_name()),
            lease: Duration::from_secs(3),
            start_patience: Duration::from_secs(10),
            patience: Duration::from_secs(60),
            notify: Box::new(|_| {}),
        }
    }
}

fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Why a store is not opened: what was found, what it means, what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenError {
    /// Another server works on the database.
    InUse(String),
    /// The database is of another cluster than it should be.
    OtherCluster(String),
    /// The database cannot be reached or used.
    Unusable(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::InUse(what) | Self::OtherCluster(what) | Self::Unusable(what)) = self;
        f.write_str(what)
    }
}

impl std::error::Error for OpenError {}

type Result<T> = std::result::Result<T, OpenError>;

pub(crate) fn open(address: Address, options: Options) -> Result<PostgresStore> {
    let unusable =
        |why: String| OpenError::Unusable(format!("cannot use the database {address}: {why}"));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("store postgres")
        .enable_all()
        .build()
        .map_err(|error| unusable(error.to_string()))?;
    let connections = Connections::new(address.clone(), Uuid::new_v4()).map_err(unusable)?;
    let patience = options.patience;
    let opening = Opening { connections, options };
    let opened = wait(runtime.spawn(opening.run()), None).and_then(std::result::Result::ok);
    let opened = opened.expect("the store's own tasks do not panic");
    let Opened { connections, notify, meta, claim, commits, beats, reads } = match opened {
        Ok(opened) => opened,
        Err(error) => {
            runtime.shutdown_background();
            return Err(error);
        }
    };
    let (connections, queue) = (Arc::new(connections), Arc::new(Queue::default()));
    let health = Arc::new(Health::new(notify));
    let beat = Beat {
        connections: connections.clone(),
        health: health.clone(),
        queue: queue.clone(),
        session: Some(beats),
        last: 0,
    };
    runtime.spawn(beat.keep());
    let shared = Arc::new(Shared {
        connections,
        meta,
        queue,
        health,
        patience,
        abandoned: AtomicBool::new(false),
        runtime: Some(runtime),
    });
    let writer = Writer::new(shared.clone(), commits, claim);
    let thread = thread::Builder::new().name("store writer".to_owned()).spawn(move || writer.run());
    let writer = thread.map_err(|error| unusable(error.to_string()))?;
    Ok(PostgresStore { shared, reads: Reads::new(reads), writer: Some(writer) })
}

struct Opening {
    connections: Connections,
    options: Options,
}

struct Opened {
    connections: Connections,
    notify: Box<Notify>,
    meta: Meta,
    claim: Uuid,
    commits: Session,
    beats: Session,
    reads: Vec<Session>,
}

impl Opening {
    async fn run(self) -> Result<Opened> {
        let commits = self.connect_patiently().await?;
        let prepared = schema::prepare(&commits, self.options.shards).await;
        let meta = prepared.map_err(|fault| self.unusable(fault))?;
        self.check_cluster(meta)?;
        self.warn(&commits).await.map_err(|fault| self.unusable(fault))?;
        // Before the shards are taken: if there are too few connections, whoever has them keeps them.
        let beats = self.connect(Purpose::Beat).await?;
        let mut reads = Vec::new();
        for _ in 0..reads::CONNECTIONS {
            reads.push(self.connect(Purpose::Read).await?);
        }
        let claim = self.take_over(&commits, meta).await?;
        let Self { connections, options } = self;
        let notify = options.notify;
        Ok(Opened { connections, notify, meta, claim, commits, beats, reads })
    }

    /// A database that has just been started is waited for; one that refuses is not.
    async fn connect_patiently(&self) -> Result<Session> {
        let (begun, mut backoff) = (Instant::now(), Backoff::default());
        loop {
            match self.connections.connect(Purpose::Commit).await {
                Ok(session) => return Ok(session),
                Err(error) if error.is_passing && begun.elapsed() < self.options.start_patience => {
                    sleep(backoff.next()).await;
                }
                Err(error) => return Err(self.no_connection(&error)),
            }
        }
    }

    async fn connect(&self, purpose: Purpose) -> Result<Session> {
        let connected = self.connections.connect(purpose).await;
        connected.map_err(|error| self.no_connection(&error))
    }

    fn no_connection(&self, error: &NoConnection) -> OpenError {
        let address = &self.connections.address;
        OpenError::Unusable(format!("cannot connect to the database {address}: {error}"))
    }

    fn unusable(&self, fault: Fault) -> OpenError {
        let address = &self.connections.address;
        OpenError::Unusable(format!("cannot use the database {address}: {fault}"))
    }

    fn check_cluster(&self, meta: Meta) -> Result<()> {
        let address = &self.connections.address;
        match self.options.cluster {
            Some(expected) if expected != meta.cluster => Err(OpenError::OtherCluster(format!(
                "the database {address} is of cluster {}, this server belongs to cluster {expected}: check the URL",
                meta.cluster
            ))),
            _ => Ok(()),
        }
    }

    /// What makes acknowledged work less safe than it seems.
    async fn warn(&self, session: &Session) -> std::result::Result<(), Fault> {
        let question =
            "SELECT current_setting('fsync'), current_setting('synchronous_standby_names')";
        let answer = session.script(question).await?;
        let value =
            |at: usize| answer.first().and_then(|row| row[at].as_deref()).unwrap_or_default();
        if value(0) == "off" {
            (self.options.notify)(
                "warning: fsync is off in the database: it loses data when its machine crashes",
            );
        }
        if value(1).is_empty() && self.connections.address.servers.len() > 1 {
            (self.options.notify)(
                "warning: the database has no synchronous standby (synchronous_standby_names is empty): if a standby is \
                 promoted, work that was acknowledged last can be missing",
            );
        }
        Ok(())
    }

    /// Claims all shards, unless a server that is alive has them.
    async fn take_over(&self, session: &Session, meta: Meta) -> Result<Uuid> {
        let mut backoff = Backoff::default();
        let begun = Instant::now();
        loop {
            match self.try_take_over(session, meta).await {
                Ok(claim) => return Ok(claim),
                Err(Stop::InUse(error)) => return Err(error),
                Err(Stop::Fault(Fault::Passing(_))) if begun.elapsed() < self.options.patience => {
                    sleep(backoff.next()).await;
                }
                Err(Stop::Fault(fault)) => return Err(self.unusable(fault)),
            }
        }
    }

    async fn try_take_over(
        &self,
        session: &Session,
        meta: Meta,
    ) -> std::result::Result<Uuid, Stop> {
        let owners = claim::owners(session).await?;
        if let Some(other) = claim::living(session, &owners.nodes, self.options.lease).await? {
            return Err(self.in_use(&other.name));
        }
        let (me, claim) = (self.connections.node, Uuid::new_v4());
        let (name, process) = (self.options.name.clone(), claim::this_process());
        let node = Node { id: me, name, process, beat: 0 };
        let taken = claim::take(session, &owners, &node, claim).await?;
        if taken == usize::from(meta.shards) + 1 {
            return Ok(claim);
        }
        // Another was faster.
        claim::release(session, me, &[claim]).await?;
        let name = claim::owner_name(session).await;
        Err(self.in_use(name.as_deref().unwrap_or("another server")))
    }

    fn in_use(&self, name: &str) -> Stop {
        let address = &self.connections.address;
        Stop::InUse(OpenError::InUse(format!(
            "the database {address} is in use by another server, {name}: stop that one, or use another database"
        )))
    }
}

enum Stop {
    InUse(OpenError),
    Fault(Fault),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}
