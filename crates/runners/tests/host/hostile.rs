//! Functions that mean harm: the host stays up, and says which did what.

use everstep_retry::Class;
use everstep_runners::Event;
use serde_json::json;

use crate::fixture::{Fixture, call, doing, until};

async fn lives_on(fixture: &Fixture) {
    assert_eq!(fixture.result(json!("still there")).await, "still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_for_others_are_refused() {
    let fixture = Fixture::python(|_| {});
    let answer = fixture.result(doing("answer for", "r-2")).await;
    assert_eq!(answer, "HTTP/1.1 400 Bad Request");
    until("the event", || fixture.events.misdeeds() == ["f: answered r-2, which it was not given"])
        .await;
    lives_on(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_two_answers_counts() {
    let fixture = Fixture::python(|_| {});
    assert_eq!(fixture.result(doing("answer twice", 0)).await, "first");
    lives_on(&fixture).await;
    let expected = "f: answered r-1, which it was not given".to_owned();
    until("the event", || fixture.events.misdeeds().contains(&expected)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_though_the_process_ends() {
    let fixture = Fixture::python(|_| {});
    for _ in 0..5 {
        assert_eq!(fixture.result(doing("answer and exit", 0)).await, "said");
    }
    lives_on(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_is_none() {
    let fixture = Fixture::python(|_| {});
    let error = fixture.error(doing("break off", 0)).await;
    assert_eq!(error.error_type, "Runtime.ExitError");
    assert!(error.payload["errorMessage"].as_str().unwrap().ends_with("exit status 7"));
    lives_on(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_answers_and_hangs_is_ended_at_its_deadline() {
    let fixture = Fixture::python(|function| {
        function.timeout_ms = 500;
        function.concurrency_max = Some(1);
    });
    assert_eq!(fixture.result(doing("answer and hang", 0)).await, "said");
    lives_on(&fixture).await;
    let expected =
        "f: did not ask for the next event before the deadline of its last one".to_owned();
    until("the event", || fixture.events.misdeeds().contains(&expected)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_hangs_does_not_hold_up_others() {
    let fixture = Fixture::python(|_| {});
    assert_eq!(fixture.result(doing("answer and hang", 0)).await, "said");
    // There is room for a second process, and its call has a minute.
    lives_on(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_not_json_are_errors() {
    let fixture = Fixture::python(|_| {});
    for body in [&b"\"\xff\""[..], b"", b"{", b"1 2"] {
        let error = fixture.error(doing("raw answer", body)).await;
        assert_eq!((&*error.error_type, error.class), ("Runtime.InvalidResponse", Class::Runtime));
    }
    let error = fixture.error(doing("raw error", "no object")).await;
    assert_eq!(error.error_type, "Lambda.Unknown");
    assert_eq!(error.payload, json!({ "errorMessage": "no object" }));
    lives_on(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_may_come_in_pieces() {
    let fixture = Fixture::python(|_| {});
    let pieces = json!([["[1,", "2", "]"], []]);
    assert_eq!(fixture.result(doing("stream", pieces)).await, json!([1, 2]));
    let body = "eyJlcnJvclR5cGUiOiJMYXRlIiwiZXJyb3JNZXNzYWdlIjoieCJ9";
    let trailers = json!([
        ["Lambda-Runtime-Function-Error-Type", "Late"],
        ["Lambda-Runtime-Function-Error-Body", body],
    ]);
    let error = fixture.error(doing("stream", json!([["[1,"], trailers]))).await;
    assert_eq!(error.payload, json!({ "errorType": "Late", "errorMessage": "x" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_are_refused() {
    let fixture = Fixture::python(|_| {});
    let most = everstep_runners::RESPONSE_BYTES_MAX - 2;
    assert_eq!(fixture.result(doing("large", most)).await.as_str().unwrap().len(), most);
    let error = fixture.error(doing("large", most + 1)).await;
    assert_eq!(error.class, Class::DataLimitExceeded);
    assert_eq!(error.error_type, "Function.ResponseSizeTooLarge");
    lives_on(&fixture).await;
    assert_eq!(fixture.events.started(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_paths_lead_nowhere() {
    let fixture = Fixture::python(|_| {});
    let answer = fixture.result(doing("other path", "/restore/next")).await;
    assert_eq!(answer, "HTTP/1.1 404 Not Found");
    let answer = fixture.result(doing("other path", "/init/error")).await;
    assert_eq!(answer, "HTTP/1.1 403 Forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gibibyte_of_output_costs_nothing() {
    let fixture = Fixture::python(|_| {});
    assert_eq!(fixture.result(doing("flood", 1024)).await, "survived");
    let lost = |event: &Event| matches!(event, Event::Lost { .. });
    until("events of all lines, or of lost ones", || {
        fixture.events.all().iter().any(lost) || fixture.events.all().len() >= 10_000
    })
    .await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 400 << 10, "{peak_kib} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_need_not_be_text() {
    let fixture = Fixture::python(|_| {});
    let (_, log) = fixture.error_and_log(doing("bytes", 0)).await;
    assert_eq!(log[0], "caf\u{fffd} \u{fffd}");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded() {
    let fixture = Fixture::python(|_| {});
    let error = fixture.error(doing("eat", 4096)).await;
    let by_group = fixture.host.limits().describe().contains("memory: by control group");
    let expected = if by_group { "Runtime.OutOfMemory" } else { "MemoryError" };
    assert_eq!(error.error_type, expected);
    lives_on(&fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_with_its_call() {
    let bounds = |options: &mut everstep_runners::Options| options.processes_max = 64;
    let bomb = crate::fixture::python("bomb", |function| function.timeout_ms = 1_000);
    let fixture = Fixture::with(vec![bomb, crate::fixture::python("f", |_| {})], bounds);
    if fixture.host.limits().describe().contains("not bounded") {
        // Not here: it would take the machine down.
        return;
    }
    let ended = fixture.host.invoke("bomb", call("r-1", &doing("bomb", 0)));
    let (ended, ()) = tokio::join!(ended, lives_on(&fixture));
    let everstep_runners::Outcome::Failed { error } = ended.outcome else { panic!("{ended:?}") };
    assert_eq!(error.error_type, "Sandbox.Timedout");
    let pid = fixture.events.all().iter().find_map(|event| match event {
        Event::Started { function, pid } if &**function == "bomb" => Some(*pid),
        _ => None,
    });
    let pid = pid.unwrap();
    until("nothing of it is left", || members(pid) == 0).await;
    lives_on(&fixture).await;
}

/// Processes of a session.
fn members(session: u32) -> usize {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let of_session = entries.filter(|entry| {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let Some((_, rest)) = stat.rsplit_once(") ") else { return false };
        !rest.starts_with('Z') && rest.split(' ').nth(3) == Some(&session.to_string())
    });
    of_session.count()
}
