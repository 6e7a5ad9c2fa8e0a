//! Ways to reach a database, and what is said when there is none or it cannot be used.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use everstep_store_postgres::Options;
use everstep_test_postgres::{Auth, Server, Settings, shared};
use uuid::Uuid;

use crate::support::{commit, get, open, open_with, options, refusal};

/// A server that wants passwords and offers TLS, with a certificate for `localhost` of an authority of its own.
struct Guarded {
    server: Server,
    folder: tempfile::TempDir,
}

impl Guarded {
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        certificates(folder.path());
        let lines = ["ssl = on", "ssl_cert_file = 'server.crt'", "ssl_key_file = 'server.key'"];
        let lines =
            lines.into_iter().chain(["ssl_ca_file = 'ca.crt'"]).map(str::to_owned).collect();
        let settings = Settings { auth: Auth::Scram, tcp: true, lines, ..Settings::default() };
        let prepare = |data: &Path, write: &dyn Fn(&Path, &str)| {
            for name in ["server.crt", "server.key", "ca.crt"] {
                let text = fs::read_to_string(folder.path().join(name)).expect("it was made");
                write(&data.join(name), &text);
            }
        };
        let server = Server::start_prepared(&settings, prepare)?;
        server.sql("postgres", "CREATE ROLE ada LOGIN PASSWORD 'pass:word'");
        server.sql("postgres", "CREATE DATABASE app OWNER ada");
        Some(Self { server, folder })
    }

    fn url(&self, credentials: &str, host: &str, parameters: &str) -> String {
        format!("postgres://{credentials}@{host}:{}/app?{parameters}", self.server.port())
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

/// An authority, a server's certificate and a client's.
fn certificates(folder: &Path) {
    let openssl = |arguments: &[&str]| {
        let output =
            Command::new("openssl").args(arguments).current_dir(folder).output().expect("openssl");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    for (name, subject) in [("ca", "/CN=authority"), ("other", "/CN=another authority")] {
        let (key_file, file) = (format!("{name}.key"), format!("{name}.crt"));
        let rest = ["-x509", "-days", "2", "-subj", subject, "-keyout", &key_file, "-out", &file];
        openssl(&[&["req"], &key[..], &rest].concat());
    }
    for (name, subject) in [("server", "/CN=localhost"), ("client", "/CN=ada")] {
        let [key_file, request, file] = ["key", "csr", "crt"].map(|it| format!("{name}.{it}"));
        openssl(
            &[&["req"], &key[..], &["-subj", subject, "-keyout", &key_file, "-out", &request]]
                .concat(),
        );
        fs::write(folder.join("names"), "subjectAltName=DNS:localhost").expect("written");
        let signed = [
            "-CA",
            "ca.crt",
            "-CAkey",
            "ca.key",
            "-CAcreateserial",
            "-days",
            "2",
            "-extfile",
            "names",
        ];
        openssl(&[&["x509", "-req", "-in", &request, "-out", &file], &signed[..]].concat());
    }
}

fn check_works(url: &str) {
    let store = open(url);
    commit(&store, "a", url).unwrap_or_else(|error| panic!("{url}: {error}"));
    assert_eq!(get(&store, "a").as_deref(), Some(url));
}

fn check_refused(url: &str, expected: &str) {
    let found = refusal(url);
    assert!(found.contains(expected), "{url}: {found}");
    assert!(!found.contains("pass:word") && !found.contains("wrong"), "a secret is shown: {found}");
}

#[test]
fn passwords_and_certificates() {
    let Some(guarded) = Guarded::start() else { return };
    let ada = "ada:pass%3Aword";
    let url = |parameters: &str| guarded.url(ada, "localhost", parameters);
    check_works(&url(""));
    check_works(&url("sslmode=disable"));
    check_works(&url("sslmode=require&channel_binding=require"));
    check_refused(&url("sslmode=disable&channel_binding=require"), "use channel_binding=prefer");
    let with_roots = |mode: &str, roots: &str| {
        url(&format!("sslmode={mode}&sslrootcert={}", guarded.file(roots)))
    };
    check_works(&with_roots("verify-full", "ca.crt"));
    check_works(&with_roots("verify-ca", "ca.crt"));
    for mode in ["require", "verify-ca", "verify-full"] {
        check_refused(&with_roots(mode, "other.crt"), "give the server's root certificate");
        check_refused(&with_roots(mode, "missing.crt"), "missing.crt");
    }
    // The certificate is for localhost, not for its address.
    let by_address = |mode: &str| {
        let parameters = format!("sslmode={mode}&sslrootcert={}", guarded.file("ca.crt"));
        guarded.url(ada, "127.0.0.1", &parameters)
    };
    check_works(&by_address("verify-ca"));
    check_refused(&by_address("verify-full"), "certificate");
    check_refused(&guarded.url("ada:wrong", "localhost", ""), "check the password of ada");
    check_refused(
        &guarded.url("ada", "localhost", "passfile=/dev/null"),
        "ada needs a password, and neither the URL nor PGPASSWORD, nor /dev/null has one",
    );
    let file = guarded.folder.path().join("pgpass");
    let port = guarded.server.port();
    fs::write(&file, format!("localhost:{port}:app:ada:pass\\:word\n")).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("it is ours");
    check_works(&guarded.url("ada", "localhost", &format!("passfile={}", file.display())));
}

#[test]
fn a_client_certificate() {
    let Some(guarded) = Guarded::start() else { return };
    let rule = "hostssl all all all cert\n";
    guarded
        .server
        .write(&guarded.server.data().join("pg_hba.conf"), &format!("local all all trust\n{rule}"));
    guarded.server.reload();
    let (certificate, key) = (guarded.file("client.crt"), guarded.file("client.key"));
    let url = |more: &str| guarded.url("ada", "localhost", &format!("sslmode=require{more}"));
    check_refused(&url(""), "certificate");
    check_works(&url(&format!("&sslcert={certificate}&sslkey={key}")));
}

#[test]
fn the_first_server_that_accepts_writes_is_used() {
    let Some(server) = shared() else { return };
    let database = server.create_database();
    let home = server.home().display();
    let missing = "/nonexistent";
    let url = |hosts: &str, more: &str| {
        format!("postgres://everstep@/{database}?host={hosts}&port={}{more}", server.port())
    };
    check_works(&url(&format!("{missing},{home}"), "&target_session_attrs=read-write"));
    let both = refusal(&url(&format!("{missing},{missing}"), ""));
    assert_eq!(both.matches("No such file").count(), 2, "{both}");
}

#[test]
fn a_standby_is_refused_and_its_primary_found() {
    let Some(primary) = Server::start(&Settings::default()) else { return };
    let Some(standby) = primary.standby() else { return };
    let database = primary.create_database();
    let url = |hosts: &[&Server]| {
        let homes: Vec<String> = hosts.iter().map(|it| it.home().display().to_string()).collect();
        format!("postgres://everstep@/{database}?host={}", homes.join(","))
    };
    check_works(&url(&[&primary]));
    crate::support::until("the database is there", || {
        standby.sql(
            "postgres",
            &format!("SELECT count(*) FROM pg_database WHERE datname = '{database}'"),
        ) == "1"
    });
    check_refused(
        &url(&[&standby]),
        "the server is a standby, which accepts no writes: give the primary",
    );
    check_works(&url(&[&standby, &primary]));
    // A failover: the standby has everything, and is used from now on.
    let store = open(&url(&[&primary, &standby]));
    commit(&store, "b", "before").expect("it commits");
    standby.wait_for(&primary);
    primary.stop();
    standby.promote();
    commit(&store, "b", "after").expect("it commits on the other");
    assert_eq!(get(&store, "b").as_deref(), Some("after"));
    drop(store);
    assert_eq!(get(&open(&url(&[&primary, &standby])), "b").as_deref(), Some("after"));
}

#[test]
fn what_is_wrong_with_a_database_is_named() {
    let Some(server) = shared() else { return };
    let port = server.port();
    check_refused(&server.url("missing"), "create it: CREATE DATABASE missing OWNER everstep");
    check_refused("postgres://a@127.0.0.1:1/x", "127.0.0.1:1: Connection refused");
    let nobody =
        format!("postgres://nobody@/postgres?host={}&port={port}", server.home().display());
    check_refused(&nobody, "let nobody in");

    let database = server.create_database();
    server.sql(&database, "CREATE SCHEMA everstep; CREATE TABLE everstep.mine (a int)");
    check_refused(&server.url(&database), "the schema everstep is there but is not everstep's");

    let database = server.create_database();
    drop(open(&server.url(&database)));
    server.sql(&database, "UPDATE everstep.meta SET schema = 99");
    check_refused(
        &server.url(&database),
        "the tables are of a later version of everstep (schema 99 with",
    );
    server.sql(&database, "UPDATE everstep.meta SET schema = 1, spaces = 200");
    check_refused(&server.url(&database), "with 200 spaces");
    server.sql(&database, "DELETE FROM everstep.meta");
    check_refused(&server.url(&database), "everstep.meta has no row");

    let database = server.create_database();
    let another = Options { cluster: Some(Uuid::new_v4()), ..options() };
    let error =
        open_with(&server.url(&database), another).err().expect("it is refused").to_string();
    assert!(error.contains("this server belongs to cluster"), "{error}");
    server.sql(
        &database,
        &format!("ALTER DATABASE {database} SET default_transaction_read_only = on"),
    );
    check_refused(&server.url(&database), "default_transaction_read_only is on");

    let database = server.create_database();
    server.sql(&database, &format!("ALTER DATABASE {database} SET synchronous_commit = off"));
    check_refused(&server.url(&database), "synchronous_commit is off");

    let database = server.create_database();
    server.sql(&database, &format!("ALTER DATABASE {database} CONNECTION LIMIT 4"));
    server.sql(&database, "CREATE ROLE few LOGIN");
    server.sql(&database, &format!("GRANT ALL ON DATABASE {database} TO few"));
    let few = format!("postgres://few@/{database}?host={}&port={port}", server.home().display());
    check_refused(&few, "everstep needs 6 connections");
    assert_eq!(
        server.sql(&database, "SELECT count(*) FROM everstep.nodes"),
        "0",
        "it has not begun"
    );
}

#[test]
fn a_role_needs_only_the_rows() {
    let Some(server) = shared() else { return };
    let database = server.create_database();
    server.sql(&database, "CREATE ROLE rows LOGIN");
    let rows = format!(
        "postgres://rows@/{database}?host={}&port={}",
        server.home().display(),
        server.port()
    );
    check_refused(&rows, "GRANT CREATE ON DATABASE");
    drop(open(&server.url(&database)));
    check_refused(&rows, "GRANT USAGE ON SCHEMA everstep");
    server.sql(&database, "GRANT USAGE ON SCHEMA everstep TO rows");
    server.sql(
        &database,
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA everstep TO rows",
    );
    check_works(&rows);
}

#[test]
fn tables_of_an_earlier_version_get_what_is_missing() {
    let Some(server) = shared() else { return };
    let database = server.create_database();
    let url = server.url(&database);
    let store = open(&url);
    commit(&store, "a", "old").expect("it commits");
    drop(store);
    // As they were when there were fewer spaces.
    server.sql(
        &database,
        "DROP TABLE everstep.invocation_orders; UPDATE everstep.meta SET spaces = spaces - 1",
    );
    let store = open(&url);
    assert_eq!(get(&store, "a").as_deref(), Some("old"));
    let mut batch = everstep_store::Batch::new(crate::support::SHARD);
    batch.put(everstep_store::Space::InvocationOrders, b"k".to_vec(), b"v".to_vec());
    everstep_store::suite::commit(&store, batch).expect("the table is there");
    let spaces = server.sql(&database, "SELECT spaces FROM everstep.meta");
    assert_eq!(spaces, everstep_store::Space::ALL.len().to_string());
}
