//! What the tests of this crate share.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use everstep_store::{Batch, Result, Shard, Space, Store};
use everstep_store_postgres::{Address, OpenError, Options, PostgresStore};
use everstep_test_postgres::Server;

pub(crate) const SHARD: Shard = Shard(1);
pub(crate) const SPACE: Space = Space::Journal;
/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Few shards, and no long waits for those that are dead.
pub(crate) fn options() -> Options {
    Options {
        shards: 4,
        lease: Duration::from_millis(300),
        start_patience: Duration::from_millis(500),
        ..Options::default()
    }
}

pub(crate) fn open_with(
    url: &str,
    options: Options,
) -> std::result::Result<PostgresStore, OpenError> {
    PostgresStore::open(Address::read(url).expect("a URL"), options)
}

pub(crate) fn open(url: &str) -> PostgresStore {
    open_with(url, options()).unwrap_or_else(|error| panic!("{error}"))
}

/// Why a database is refused.
pub(crate) fn refusal(url: &str) -> String {
    open_with(url, options()).err().expect("it is refused").to_string()
}

/// Collects what a store says.
pub(crate) fn listening(options: Options) -> (Options, Arc<Mutex<Vec<String>>>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let sink = heard.clone();
    let notify = Box::new(move |line: &str| sink.lock().expect("no panic").push(line.to_owned()));
    (Options { notify, ..options }, heard)
}

pub(crate) fn put(key: &str, value: &str) -> Batch {
    let mut batch = Batch::new(SHARD);
    batch.put(SPACE, key.into(), value.into());
    batch
}

/// Hands a batch over.
pub(crate) fn send(store: &dyn Store, batch: Batch) -> mpsc::Receiver<Result<()>> {
    let (sender, receiver) = mpsc::channel();
    store.commit(batch, Box::new(move |outcome| drop(sender.send(outcome))));
    receiver
}

pub(crate) fn commit(store: &dyn Store, key: &str, value: &str) -> Result<()> {
    send(store, put(key, value)).recv_timeout(PATIENCE).expect("an outcome in time")
}

pub(crate) fn get(store: &dyn Store, key: &str) -> Option<String> {
    let value = store.get(SHARD, SPACE, key.as_bytes()).expect("readable");
    value.map(|value| String::from_utf8(value).expect("it is text"))
}

/// Waits until something is true.
pub(crate) fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_true() {
        assert!(Instant::now() < deadline, "it never came about: {what}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// The commit connections, as a condition on `pg_stat_activity`.
pub(crate) const COMMITS: &str = "application_name LIKE 'everstep commit %'";

/// How many commit connections are in a state.
pub(crate) fn commits_that(server: &Server, condition: &str) -> usize {
    let sql = format!("SELECT count(*) FROM pg_stat_activity WHERE {COMMITS} AND {condition}");
    server.sql("postgres", &sql).parse().expect("a number")
}

/// A transaction of somebody else, open until this is dropped.
pub(crate) struct Transaction {
    psql: Child,
}

impl Transaction {
    pub(crate) fn begin(server: &Server, database: &str, sql: &str) -> Self {
        let mut psql = server.program("psql");
        psql.args(["-X", "-q", "-A", "-t", "-U", "everstep", "-d", database, "-h"]);
        psql.arg(server.home()).args(["-p", &server.port().to_string()]);
        psql.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut psql = psql.spawn().expect("psql");
        let lock = format!("BEGIN; {sql}; SELECT 'locked';\n");
        psql.stdin.as_mut().expect("piped").write_all(lock.as_bytes()).expect("it listens");
        let mut said = [0; 6];
        psql.stdout.as_mut().expect("piped").read_exact(&mut said).expect("it answers");
        assert_eq!(&said, b"locked");
        Self { psql }
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        drop(self.psql.stdin.take());
        let _ = self.psql.wait();
    }
}

/// A way to a server that can be cut, so that the server does not notice.
pub(crate) struct Proxy {
    pub(crate) address: SocketAddr,
    links: Arc<Mutex<Vec<Link>>>,
}

/// The client's end, and the server's, which stays open.
struct Link {
    client: TcpStream,
    _server: UnixStream,
}

impl Proxy {
    pub(crate) fn new(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let socket = server.home().join(format!(".s.PGSQL.{}", server.port()));
        let links = Arc::<Mutex<Vec<Link>>>::default();
        let kept = links.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(std::result::Result::ok) {
                // If the server is down, the client sees its connection end.
                if let Some(link) = connect(client, &socket) {
                    kept.lock().expect("no panic").push(link);
                }
            }
        });
        Self { address, links }
    }

    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgres://everstep@{}/{database}", self.address)
    }

    /// Ends all connections for the clients only.
    pub(crate) fn cut(&self) {
        for link in self.links.lock().expect("no panic").iter() {
            let _ = link.client.shutdown(Shutdown::Both);
        }
    }
}

fn connect(client: TcpStream, socket: &PathBuf) -> Option<Link> {
    let server = UnixStream::connect(socket).ok()?;
    let (mut from, mut to) = (client.try_clone().ok()?, server.try_clone().ok()?);
    thread::spawn(move || std::io::copy(&mut from, &mut to));
    let (mut from, mut to) = (server.try_clone().ok()?, client.try_clone().ok()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    Some(Link { client, _server: server })
}
