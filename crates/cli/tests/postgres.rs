//! `everstep serve --store postgres://…` on a real PostgreSQL.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use everstep_test_postgres::{Server as Postgres, Settings, shared};
use support::server::Server;
use support::{everstep, until};

const WAITING: &str = r#"{"StartAt": "Wait", "States": {
    "Wait": {"Type": "Wait", "Seconds": 3, "Next": "Greet"},
    "Greet": {"Type": "Pass", "Result": "hello", "End": true}}}"#;

fn serve(data: &Path, url: &str) -> Server {
    Server::start(data, "127.0.0.1:0", &[("EVERSTEP_STORE", url)])
}

/// The status and the body of a request.
fn http(server: &Server, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(server.url.strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
}

/// What a server says that does not start.
fn refused(arguments: &[&str]) -> String {
    let output =
        everstep(&[&["serve", "--listen", "127.0.0.1:0"], arguments].concat()).output().unwrap();
    assert!(!output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn check_refused(arguments: &[&str], expected: &str) {
    let said = refused(arguments);
    assert!(said.contains(expected), "{arguments:?}: {said}");
    assert!(!said.contains("hunter2"), "a password is shown: {said}");
}

#[test]
fn executions_survive_a_server_that_is_killed() {
    let Some(postgres) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().join("data"), folder.path().join("waiting.asl.json"));
    fs::write(&file, WAITING).unwrap();
    let database = postgres.create_database();
    let url = postgres.url(&database);
    let mut server = serve(&data, &url);
    let shown = format!(
        "data in postgres://everstep@{}:5432/{database}; try: aws",
        postgres.home().display()
    );
    assert!(server.announced.contains(&shown), "{}", server.announced);
    server.done(&["machines", "create", file.to_str().unwrap(), "--name", "waiting"]);
    server.done(&["executions", "start", "waiting", "--name", "e"]);
    server.child.kill().unwrap();
    server.child.wait().unwrap();
    assert_ne!(
        postgres.sql(&database, "SELECT count(*) FROM everstep.owners WHERE node IS NOT NULL"),
        "0"
    );

    let mut server = serve(&data, &url);
    assert_eq!(http(&server, "/health").0, 200);
    assert_eq!(http(&server, "/ready").0, 200);
    let watched = server.done(&["executions", "watch", "e", "--machine", "waiting"]);
    assert!(watched.contains("hello"), "{watched}");
    // Another server on the same database is refused, whatever its directory.
    let other = folder.path().join("other");
    check_refused(
        &["--data", other.to_str().unwrap(), "--store", &url],
        "is in use by another server, process ",
    );
    assert_eq!(http(&server, "/ready").0, 200, "the first is not disturbed");
    server.stop();
    let left = "SELECT count(*) FROM everstep.owners WHERE node IS NOT NULL";
    assert_eq!(postgres.sql(&database, left), "0", "the shards were given free");
    assert_eq!(postgres.sql(&database, "SELECT count(*) FROM everstep.nodes"), "0");
}

#[test]
fn a_database_that_is_away_is_waited_for() {
    let Some(postgres) = Postgres::start(&Settings::default()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let server = serve(&folder.path().join("data"), &postgres.new_url());
    let file = "testdata/cli/remote/hello.asl.json";
    server.done(&["machines", "create", file]);
    postgres.stop();
    until("it is not ready any more", || http(&server, "/ready").0 == 503);
    let (_, why) = http(&server, "/ready");
    assert!(why.contains("No such file"), "{why}");
    assert_eq!(http(&server, "/health").0, 200, "the process is well");
    until("new work is refused", || {
        let output = server.run(&["executions", "start", "hello"]);
        String::from_utf8_lossy(&output.stderr).contains("the database is away: ")
    });
    postgres.run();
    until("it is ready again", || http(&server, "/ready").0 == 200);
    until("new work is accepted", || {
        server.run(&["executions", "start", "hello", "--wait"]).status.success()
    });
}

#[test]
fn what_cannot_be_used_is_named() {
    let Some(postgres) = shared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let data = path("data");
    let database = postgres.create_database();
    let url = postgres.url(&database);
    check_refused(
        &["--store", "mysql://db/x"],
        "invalid --store: a database's URL begins with postgres://",
    );
    check_refused(&["--store", "postgres://a:hunter2@b:x/c"], "invalid --store: invalid port");
    check_refused(&["--data", &data, "--store", &url, "--max-disk", "1G"], "--max-disk is about");
    let elsewhere = "postgres://ada:hunter2@127.0.0.1:1/app";
    let said = refused(&["--data", &data, "--store", elsewhere]);
    assert!(
        said.contains("warning: the password of the database is on the command line"),
        "{said}"
    );
    assert!(
        said.contains(
            "cannot connect to the database postgres://ada@127.0.0.1:1/app: 127.0.0.1:1: Connection"
        ),
        "{said}"
    );
    assert!(!said.contains("hunter2"), "{said}");

    let mut server = serve(Path::new(&data), &url);
    check_refused(&["--data", &data, "--store", &postgres.new_url()], "is in use by process ");
    server.stop();
    check_refused(&["--data", &data], "belongs to the database postgres://everstep@");
    check_refused(&["--data", &data, "--store", &postgres.new_url()], "; if it is right, remove ");

    let embedded = path("embedded");
    Server::start(Path::new(&embedded), "127.0.0.1:0", &[]).stop();
    check_refused(
        &["--data", &embedded, "--store", &url],
        "has a store of its own, which --store does not use",
    );
    Server::start(Path::new(&embedded), "127.0.0.1:0", &[]).stop();
}
