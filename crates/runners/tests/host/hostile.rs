//! Functions that mean harm: the host stays up, and says which did what.

use everstep_retry::Class;
use everstep_runners::Event;
use serde_json::json;

use crate::house::{House, call, doing, until};

async fn lives_on(house: &House) {
    assert_eq!(house.result(json!("still there")).await, "still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_for_others_are_refused() {
    let house = House::python(|_| {});
    let answer = house.result(doing("answer for", "r-2")).await;
    assert_eq!(answer, "HTTP/1.1 400 Bad Request");
    until("it is told", || house.events.misdeeds() == ["f: answered r-2, which it was not given"])
        .await;
    lives_on(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_of_two_answers_counts() {
    let house = House::python(|_| {});
    assert_eq!(house.result(doing("answer twice", 0)).await, "first");
    lives_on(&house).await;
    let said = "f: answered r-1, which it was not given".to_owned();
    until("it is told", || house.events.misdeeds().contains(&said)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_though_the_process_ends() {
    let house = House::python(|_| {});
    for _ in 0..5 {
        assert_eq!(house.result(doing("answer and exit", 0)).await, "said");
    }
    lives_on(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_an_answer_is_none() {
    let house = House::python(|_| {});
    let error = house.error(doing("break off", 0)).await;
    assert_eq!(error.error_type, "Runtime.ExitError");
    assert!(error.payload["errorMessage"].as_str().unwrap().ends_with("exit status 7"));
    lives_on(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_answers_and_hangs_is_ended_at_its_deadline() {
    let house = House::python(|function| {
        function.timeout_ms = 500;
        function.concurrency_max = Some(1);
    });
    assert_eq!(house.result(doing("answer and hang", 0)).await, "said");
    lives_on(&house).await;
    let said = "f: did not ask for the next event before the deadline of its last one".to_owned();
    until("it is told", || house.events.misdeeds().contains(&said)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_hangs_does_not_hold_up_others() {
    let house = House::python(|_| {});
    assert_eq!(house.result(doing("answer and hang", 0)).await, "said");
    // There is room for a second process, and its call has a minute.
    lives_on(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_that_are_not_json_are_errors() {
    let house = House::python(|_| {});
    for body in [&b"\"\xff\""[..], b"", b"{", b"1 2"] {
        let error = house.error(doing("raw answer", body)).await;
        assert_eq!((&*error.error_type, error.class), ("Runtime.InvalidResponse", Class::Runtime));
    }
    let error = house.error(doing("raw error", "no object")).await;
    assert_eq!(error.error_type, "Lambda.Unknown");
    assert_eq!(error.payload, json!({ "errorMessage": "no object" }));
    lives_on(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_may_come_in_pieces() {
    let house = House::python(|_| {});
    let pieces = json!([["[1,", "2", "]"], []]);
    assert_eq!(house.result(doing("stream", pieces)).await, json!([1, 2]));
    let body = "eyJlcnJvclR5cGUiOiJMYXRlIiwiZXJyb3JNZXNzYWdlIjoieCJ9";
    let trailers = json!([
        ["Lambda-Runtime-Function-Error-Type", "Late"],
        ["Lambda-Runtime-Function-Error-Body", body],
    ]);
    let error = house.error(doing("stream", json!([["[1,"], trailers]))).await;
    assert_eq!(error.payload, json!({ "errorType": "Late", "errorMessage": "x" }));
}

#[tokio::test(flavor = "multi_thread")]
async fn large_answers_are_refused() {
    let house = House::python(|_| {});
    let most = everstep_runners::RESPONSE_BYTES_MAX - 2;
    assert_eq!(house.result(doing("large", most)).await.as_str().unwrap().len(), most);
    let error = house.error(doing("large", most + 1)).await;
    assert_eq!(error.class, Class::DataLimitExceeded);
    assert_eq!(error.error_type, "Function.ResponseSizeTooLarge");
    lives_on(&house).await;
    assert_eq!(house.events.started(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_paths_lead_nowhere() {
    let house = House::python(|_| {});
    let answer = house.result(doing("other path", "/restore/next")).await;
    assert_eq!(answer, "HTTP/1.1 404 Not Found");
    let answer = house.result(doing("other path", "/init/error")).await;
    assert_eq!(answer, "HTTP/1.1 403 Forbidden");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gibibyte_of_output_costs_nothing() {
    let house = House::python(|_| {});
    assert_eq!(house.result(doing("flood", 1024)).await, "survived");
    let lost = |event: &Event| matches!(event, Event::Lost { .. });
    until("some of it is told as lost, or all of it is told", || {
        house.events.all().iter().any(lost) || house.events.all().len() >= 10_000
    })
    .await;
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak_kib: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak_kib < 400 << 10, "{peak_kib} KiB");
}

#[tokio::test(flavor = "multi_thread")]
async fn output_need_not_be_text() {
    let house = House::python(|_| {});
    let (_, log) = house.error_and_log(doing("bytes", 0)).await;
    assert_eq!(log[0], "caf\u{fffd} \u{fffd}");
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_bounded() {
    let house = House::python(|_| {});
    let error = house.error(doing("eat", 4096)).await;
    let by_group = house.host.limits().describe().contains("memory: by control group");
    let expected = if by_group { "Runtime.OutOfMemory" } else { "MemoryError" };
    assert_eq!(error.error_type, expected);
    lives_on(&house).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_bomb_ends_with_its_call() {
    let bounds = |options: &mut everstep_runners::Options| options.processes_max = 64;
    let bomb = crate::house::python("bomb", |function| function.timeout_ms = 1_000);
    let house = House::with(vec![bomb, crate::house::python("f", |_| {})], bounds);
    if house.host.limits().describe().contains("not bounded") {
        // Not here: it would take the machine down.
        return;
    }
    let ended = house.host.invoke("bomb", call("r-1", &doing("bomb", 0)));
    let (ended, ()) = tokio::join!(ended, lives_on(&house));
    let everstep_runners::Outcome::Failed { error } = ended.outcome else { panic!("{ended:?}") };
    assert_eq!(error.error_type, "Sandbox.Timedout");
    let pid = house.events.all().iter().find_map(|event| match event {
        Event::Started { function, pid } if &**function == "bomb" => Some(*pid),
        _ => None,
    });
    let pid = pid.unwrap();
    until("nothing of it is left", || members(pid) == 0).await;
    lives_on(&house).await;
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
