//! One server at a time works on a database, and nothing counts of one that was taken over from.

use std::time::Duration;

use crate::support::{PATIENCE, commit, get, open, open_with, options, put, send, until};
use everstep_store::{Error, Store};
use everstep_store_postgres::{OpenError, Options};
use everstep_test_postgres::shared;

#[test]
fn a_second_server_is_refused_while_the_first_is_alive() {
    let Some(server) = shared() else { return };
    let url = server.new_url();
    let first =
        open_with(&url, Options { name: "the first".to_owned(), ..options() }).expect("it opens");
    commit(&first, "a", "1").expect("it commits");
    // Long enough for a beat.
    let second = open_with(&url, Options { lease: Duration::from_secs(6), ..options() });
    let Err(OpenError::InUse(message)) = second else { panic!("it is not refused") };
    assert!(message.contains("is in use by another server, the first: stop that one"), "{message}");
    commit(&first, "b", "2").expect("the first is not disturbed");
    drop(first);
    // Given free: no need to wait for a lease.
    let third = open_with(&url, Options { lease: PATIENCE * 100, ..options() }).expect("it opens");
    assert_eq!((get(&third, "a"), get(&third, "b")), (Some("1".to_owned()), Some("2".to_owned())));
}

#[test]
fn a_server_that_stood_still_is_taken_over_from_and_writes_no_more() {
    let Some(server) = shared() else { return };
    let database = server.create_database();
    let url = server.url(&database);
    let old = open(&url);
    commit(&old, "a", "old").expect("it commits");
    // As another server does that sees no beat; this one's own would come in the way.
    let claim =
        "UPDATE everstep.owners SET epoch = epoch + 1, claim = gen_random_uuid(), node = NULL";
    server.sql(&database, claim);
    let error = commit(&old, "a", "late").expect_err("it was taken over from");
    assert!(matches!(&error, Error::Fenced(_)), "{error}");
    assert!(error.to_string().contains("do not run two servers on one database"), "{error}");
    assert_eq!(commit(&old, "b", "late"), Err(error), "nothing is accepted any more");
    drop(old);
    let new = open(&url);
    assert_eq!((get(&new, "a").as_deref(), get(&new, "b")), (Some("old"), None));
}

#[test]
fn a_claim_that_was_lost_costs_only_its_own_shard() {
    let Some(server) = shared() else { return };
    let database = server.create_database();
    let store = open(&server.url(&database));
    server.sql(&database, "UPDATE everstep.owners SET claim = gen_random_uuid() WHERE shard = 2");
    // In one group, if they are quick; the outcome is the same if they are not.
    let [kept, lost] = [1, 2].map(|shard| {
        let mut batch = put("a", "x");
        batch.shard = everstep_store::Shard(shard);
        send(&store, batch)
    });
    assert_eq!(kept.recv_timeout(PATIENCE), Ok(Ok(())));
    assert!(matches!(lost.recv_timeout(PATIENCE), Ok(Err(Error::Fenced(_)))));
    let rows = server.sql(&database, "SELECT shard FROM everstep.journal");
    assert_eq!(rows, "1", "only the shard that was held was written");
}

#[test]
fn a_steal_that_is_not_yet_committed_is_waited_for() {
    let Some(server) = shared() else { return };
    let database = server.create_database();
    let store = open(&server.url(&database));
    let mut psql = server.program("psql");
    psql.args(["-X", "-q", "-U", "everstep", "-d", &database, "-h"]).arg(server.home());
    psql.args(["-p", &server.port().to_string(), "-c", "BEGIN"]);
    psql.args(["-c", "UPDATE everstep.owners SET claim = gen_random_uuid()"]);
    psql.args(["-c", "SELECT pg_sleep(1)", "-c", "COMMIT"]).stdout(std::process::Stdio::null());
    let mut thief = psql.spawn().expect("psql");
    until("the thief has the rows", || {
        let sleeping = "SELECT count(*) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(1)'";
        server.sql(&database, &format!("{sleeping} AND datname = '{database}'")) == "1"
    });
    let outcome = commit(&store, "a", "late");
    assert!(matches!(outcome, Err(Error::Fenced(_))), "{outcome:?}");
    thief.wait().expect("it ends");
    assert_eq!(server.sql(&database, "SELECT count(*) FROM everstep.journal"), "0");
}

#[test]
fn a_server_that_is_not_known_any_more_gives_up() {
    let Some(server) = shared() else { return };
    let database = server.create_database();
    let store = open(&server.url(&database));
    server.sql(&database, "DELETE FROM everstep.nodes");
    until("the next beat finds no row", || commit(&store, "a", "x").is_err());
    let error = commit(&store, "a", "x").expect_err("it has given up");
    assert!(error.to_string().contains("does not know this server any more"), "{error}");
}

#[test]
fn of_two_servers_that_start_at_once_one_is_refused() {
    let Some(server) = shared() else { return };
    for round in 0..5 {
        let database = server.create_database();
        let url = server.url(&database);
        if round % 2 == 0 {
            // The tables are there, and were left by a process that is gone.
            let store = open(&url);
            commit(&store, "a", "x").expect("it commits");
            store.abandon();
        }
        let start = || open_with(&url, Options { lease: Duration::from_secs(3), ..options() });
        let opened = std::thread::scope(|scope| {
            let threads = [scope.spawn(start), scope.spawn(start)];
            threads.map(|thread| thread.join().expect("no panic"))
        });
        let working = opened
            .iter()
            .filter(|store| store.as_ref().is_ok_and(|it| commit(it, "b", "y").is_ok()));
        assert_eq!(working.count(), 1, "round {round}");
        let refused = opened.iter().filter(|store| matches!(store, Err(OpenError::InUse(_))));
        assert_eq!(refused.count(), 1, "round {round}");
    }
}

#[test]
fn a_store_reports_how_many_shards_it_was_made_with() {
    let Some(server) = shared() else { return };
    let url = server.new_url();
    let cluster = open(&url).cluster();
    let again = open_with(&url, Options { shards: 9, cluster: Some(cluster), ..options() })
        .expect("it opens");
    assert_eq!(again.shards(), 4);
}
