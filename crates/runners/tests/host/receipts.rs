//! A process that has answered continues when its caller has stored the answer.

use everstep_runners::{Ended, Outcome};
use serde_json::json;

use crate::fixture::{Fixture, call, doing, python, until};

async fn ended(fixture: &Fixture, request_id: &str, event: serde_json::Value) -> Ended {
    fixture.host.invoke("f", call(request_id, &event)).await
}

fn one_at_a_time() -> Fixture {
    let one = python("f", |function| function.concurrency_max = Some(1));
    Fixture::new(vec![one, python("other", |_| {})])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_waits_for_its_receipt() {
    let fixture = one_at_a_time();
    let Ended { outcome, worker_pid, receipt, .. } = ended(&fixture, "r-1", doing("pid", 0)).await;
    let Outcome::Succeeded { payload } = outcome else { panic!("{outcome:?}") };
    let payload: serde_json::Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(payload[0].as_u64(), worker_pid.map(u64::from));
    let mut second = std::pin::pin!(ended(&fixture, "r-2", json!(2)));
    // As long as a hundred other calls take, and longer than a process is thought to be slow.
    tokio::select! {
        _ = &mut second => panic!("the process continued too soon"),
        () = async { for _ in 0..100 { fixture.outcome("other", &json!(1)).await; } } => {}
    }
    drop(receipt);
    let second = second.await;
    assert_eq!(second.outcome, Outcome::Succeeded { payload: "2".into() });
    assert_eq!(second.worker_pid, worker_pid, "the same process");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_hears_whether_its_answer_counts() {
    let directory = tempfile::tempdir().unwrap();
    let fixture = one_at_a_time();
    for (refused, expected) in [(false, "HTTP/1.1 202 Accepted"), (true, "HTTP/1.1 403 Forbidden")]
    {
        let path = directory.path().join(refused.to_string());
        let event = doing("answer into", path.to_str().unwrap());
        let Ended { outcome, receipt, .. } = ended(&fixture, "r-1", event).await;
        assert_eq!(outcome, Outcome::Succeeded { payload: "1".into() });
        if refused {
            receipt.refuse();
        } else {
            drop(receipt);
        }
        let written = || std::fs::read_to_string(&path).unwrap_or_default();
        until("the answer", || written() == expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_dies_is_named() {
    let fixture = one_at_a_time();
    let Ended { outcome, worker_pid, .. } = ended(&fixture, "r-1", doing("exit", 3)).await;
    assert!(matches!(outcome, Outcome::Failed { .. }), "{outcome:?}");
    assert!(worker_pid.is_some());
}
