//! `everstep run` with mocked responses: what it prints is compared whole. The clock is virtual, and exact.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs;

use support::{check, check_input, everstep, run};

const RUN: &str = "testdata/cli/run";

fn order(name: &str, more: &str) {
    check(
        &format!("run-order-{name}"),
        &format!(
            "run examples/order/order.asl.json --input {{\"orderId\":\"o-1\"}} \
             --mock examples/order/mocks.json --skip-waits --seed 1 --test-case {name}{more}"
        ),
    );
}

#[test]
fn every_failure_path_of_the_order() {
    for case in [
        "happy",
        "out-of-stock",
        "reservation-error",
        "reservation-recovers",
        "rate-limit",
        "rate-limit-lasts",
        "payment-error",
        "charge-unexpected",
        "fulfilment-fails",
        "release-fails",
        "refund-fails",
    ] {
        order(case, "");
    }
}

fn shipping(name: &str, parcels: &str, more: &str) {
    check(
        &format!("run-shipping-{name}"),
        &format!(
            "run {RUN}/shipping.asl.yaml --mock {RUN}/shipping-mocks.json --skip-waits --seed 1 \
             --start-time 2026-01-31T09:00:00Z --input {{\"parcels\":[{parcels}]}} {more}"
        ),
    );
}

#[test]
fn maps_waits_and_choices() {
    let two = r#"{"id":1},{"id":2}"#;
    shipping("packed", two, "--test-case packed");
    shipping("set-aside", two, "--test-case set-aside");
    shipping("jammed", two, "--test-case jammed");
    shipping("none", "", "--test-case packed");
    shipping("not-enough", r#"{},{},{}"#, "--test-case not-enough");
    shipping("no-answer", two, "--test-case no-answer");
}

#[test]
fn forms_of_the_result() {
    let two = r#"{"id":1},{"id":2}"#;
    shipping("json", two, "--test-case jammed --json --quiet");
    shipping("history", two, "--test-case packed --history --quiet");
    shipping("quiet", two, "--test-case packed --quiet");
    shipping("quiet-failed", two, "--test-case jammed --quiet");
    shipping("both", two, "--test-case packed --json --history");
}

#[test]
fn children_of_distributed_maps() {
    let run = format!(
        "run {RUN}/distributed.asl.json --mock {RUN}/distributed-mocks.json --skip-waits --seed 1 \
         --input [1,2,3] --test-case"
    );
    check("run-distributed", &format!("{run} one-fails"));
    check("run-distributed-failed", &format!("{run} two-fail"));
}

#[test]
fn dialects() {
    let deadline = format!("run {RUN}/deadline.asl.json --skip-waits");
    check("run-timed-out", &deadline);
    let choice = r#"{"StartAt": "A", "States": {"A": {"Type": "Choice", "Choices": [
        {"Variable": "$.x", "IsPresent": true, "Next": "B"}]}, "B": {"Type": "Succeed"}}}"#;
    check_input("run-dialect-spec", "run -", choice);
    check_input("run-dialect-aws", "run - --dialect aws", choice);
}

/// The same seed gives the same result, another one a different result.
#[test]
fn seeds() {
    let uuid = r#"{"StartAt": "A", "States": {"A": {"Type": "Pass",
        "Parameters": {"id.$": "States.UUID()"}, "End": true}}}"#;
    let output = |seed: &str| run(&format!("run - --quiet --skip-waits {seed}"), uuid).stdout;
    // Random numbers are drawn from the moment too.
    let start = "--start-time 2026-01-31T09:00:00Z";
    let first = output(&format!("--seed 1 {start}"));
    assert_eq!(first, output(&format!("--seed 1 {start}")));
    assert_ne!(first, output(&format!("--seed 2 {start}")));
}

#[test]
fn what_cannot_be_run() {
    let order = "run examples/order/order.asl.json";
    let mock = "--mock examples/order/mocks.json";
    check("run-no-answers", order);
    check("run-input-not-json", &format!("{order} --input {{\"a\":}}"));
    check("run-input-missing", &format!("{order} --input @nothing.json"));
    check_input("run-input-stdin-not-json", &format!("{order} --input -"), "{\n  \"a\": nope\n}");
    check_input("run-two-stdins", "run - --input -", "{}");
    check("run-input-comment", &format!("{order} --input {{}}//none"));
    check("run-choose-case", &format!("{order} {mock}"));
    check("run-unknown-case", &format!("{order} {mock} --test-case payment-eror"));
    check("run-unknown-machine", &format!("{order} {mock} --machine orders --test-case happy"));
    check("run-unknown-function", &format!("{order} --function charge-custmer=x"));
    check("run-function-without-command", &format!("{order} --function charge-customer"));
    check("run-broken", "run testdata/cli/definitions/broken.asl.json");
    check("run-bad-start-time", &format!("{order} --skip-waits --start-time tomorrow"));
}

/// The error about a mock file for a machine with the one state `Call`.
fn bad_mock(text: &str, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mocks.json");
    fs::write(&file, text).unwrap();
    let output =
        everstep(&["run", "testdata/cli/run/call.asl.json", "--mock"]).arg(&file).output().unwrap();
    let seen = String::from_utf8(output.stderr).unwrap();
    let seen = seen.replace(&format!("{}:", file.display()), "");
    assert_eq!((output.status.code(), seen.trim_end()), (Some(2), expected), "{text}");
}

#[test]
fn mistakes_in_mock_files() {
    bad_mock("{", "error: 1:1: not a mock file: this object is not closed");
    bad_mock("[]", "error: 1:1: a mock file is an array, not an object");
    bad_mock("{}", "error: 1:1: a mock file needs the field `MockedResponses`");
    bad_mock(
        r#"{"StateMachine": {}}"#,
        "error: 1:2: a mock file has no field `StateMachine`; did you mean `StateMachines`?",
    );
    let with = |case: &str, response: &str| {
        format!(
            "{{\"StateMachines\": {{\"m\": {{\"TestCases\": {{\"c\":\n{case}}}}}}},\n\
             \"MockedResponses\": {{\"R\":\n{response}}}}}"
        )
    };
    let good = r#"{"0": {"Return": 1}}"#;
    for (case, response, expected) in [
        (r#"{"Cal": "R"}"#, good, "2:2: the definition has no state `Cal`; did you mean `Call`?"),
        (
            r#"{"Call": "r"}"#,
            good,
            "2:10: unknown response `r`: `MockedResponses` does not have it; did you mean `R`?",
        ),
        (r#"{"Call": 1}"#, good, "2:10: `Call` is a number, not the name of a response"),
        ("{}", "{}", "4:1: response `R` answers no call"),
        (
            "{}",
            r#"{"first": {"Return": 1}}"#,
            "4:2: `first` in response `R` is neither a call such as \"0\" nor a range such as \"1-2\"",
        ),
        (
            "{}",
            r#"{"1": {"Return": 1}}"#,
            "4:2: response `R` has nothing for call \"0\"; calls count from \"0\"",
        ),
        (
            "{}",
            r#"{"0-2": {"Return": 1}, "2": {"Return": 1}}"#,
            "4:24: response `R` has two answers for call \"2\"",
        ),
        ("{}", r#"{"0": {}}"#, "4:7: call \"0\" of response `R` has neither `Return` nor `Throw`"),
        (
            "{}",
            r#"{"0": {"Return": 1, "Throw": {"Error": "E"}}}"#,
            "4:21: call \"0\" of response `R` has both `Return` and `Throw`; keep one",
        ),
        (
            "{}",
            r#"{"0": {"Throw": {"Eror": "E"}}}"#,
            "4:18: `Throw` of call \"0\" of response `R` has no field `Eror`; did you mean `Error`?",
        ),
        (
            "{}",
            r#"{"0": {"Throw": {"Cause": "E"}}}"#,
            "4:17: `Throw` of call \"0\" of response `R` needs the field `Error`",
        ),
        ("{}", r#"{"0": {"Throw": {"Error": 1}}}"#, "4:27: `Error` is a number, not a string"),
    ] {
        bad_mock(&with(case, response), &format!("error: {expected}"));
    }
}
