//! What is accepted and what is refused, in which words.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::protocol::read;

const SERIALIZATION: &str = "SerializationException";
const VALIDATION: &str = "ValidationException";

/// What is answered: a name and a message, or nothing.
type Expected<'a> = Option<(&'a str, &'a str)>;

/// Of an operation by its name, and a body.
fn check_all(cases: &[(&str, Value, Expected<'_>)]) {
    for (name, body, expected) in cases {
        let operation = Operation::find(name).unwrap();
        let answer = check(operation, body).err();
        let answer = answer.as_ref().map(|error| (error.name(), error.message()));
        assert_eq!(answer, *expected, "{name} {body}");
    }
}

fn check_one(name: &str, body: Value, expected: Expected<'_>) {
    check_all(&[(name, body, expected)]);
}

/// One violation, by what follows `Value `.
fn violates(name: &str, body: Value, said: &str) {
    let message = format!("1 validation error detected: Value {said}");
    check_one(name, body, Some((VALIDATION, &message)));
}

#[test]
fn every_operation_asks_for_its_required_members() {
    let required: &[(&str, &[&str])] = &[
        ("CreateActivity", &["name"]),
        ("CreateStateMachine", &["name", "definition", "roleArn"]),
        ("CreateStateMachineAlias", &["name", "routingConfiguration"]),
        ("DeleteActivity", &["activityArn"]),
        ("DeleteStateMachine", &["stateMachineArn"]),
        ("DeleteStateMachineAlias", &["stateMachineAliasArn"]),
        ("DeleteStateMachineVersion", &["stateMachineVersionArn"]),
        ("DescribeActivity", &["activityArn"]),
        ("DescribeExecution", &["executionArn"]),
        ("DescribeMapRun", &["mapRunArn"]),
        ("DescribeStateMachine", &["stateMachineArn"]),
        ("DescribeStateMachineAlias", &["stateMachineAliasArn"]),
        ("DescribeStateMachineForExecution", &["executionArn"]),
        ("GetActivityTask", &["activityArn"]),
        ("GetExecutionHistory", &["executionArn"]),
        ("ListActivities", &[]),
        ("ListExecutions", &[]),
        ("ListMapRuns", &["executionArn"]),
        ("ListStateMachineAliases", &["stateMachineArn"]),
        ("ListStateMachineVersions", &["stateMachineArn"]),
        ("ListStateMachines", &[]),
        ("ListTagsForResource", &["resourceArn"]),
        ("PublishStateMachineVersion", &["stateMachineArn"]),
        ("RedriveExecution", &["executionArn"]),
        ("SendTaskFailure", &["taskToken"]),
        ("SendTaskHeartbeat", &["taskToken"]),
        ("SendTaskSuccess", &["taskToken", "output"]),
        ("StartExecution", &["stateMachineArn"]),
        ("StartSyncExecution", &["stateMachineArn"]),
        ("StopExecution", &["executionArn"]),
        ("TagResource", &["resourceArn", "tags"]),
        ("TestState", &["definition"]),
        ("UntagResource", &["resourceArn", "tagKeys"]),
        ("UpdateMapRun", &["mapRunArn"]),
        ("UpdateStateMachine", &["stateMachineArn"]),
        ("UpdateStateMachineAlias", &["stateMachineAliasArn"]),
        ("ValidateStateMachineDefinition", &["definition"]),
    ];
    assert_eq!(required.len(), Operation::ALL.len());
    for (name, members) in required {
        let null = |member: &&str| {
            format!(
                "Value null at '{member}' failed to satisfy constraint: Member must not be null"
            )
        };
        let listed = members.iter().map(null).collect::<Vec<_>>().join("; ");
        let errors = if members.len() == 1 { "error" } else { "errors" };
        let message = format!("{} validation {errors} detected: {listed}", members.len());
        let expected = (!members.is_empty()).then_some((VALIDATION, message.as_str()));
        check_one(name, json!({}), expected);
    }
}

#[test]
fn what_is_accepted() {
    let nothing: Expected<'_> = None;
    let encryption = json!({ "type": "AWS_OWNED_KEY", "kmsDataKeyReusePeriodSeconds": null });
    let routing = json!([{ "stateMachineVersionArn": "a", "weight": 100 }]);
    let logging = json!({
        "level": "ALL",
        "includeExecutionData": true,
        "destinations": [{ "cloudWatchLogsLogGroup": { "logGroupArn": "a" } }],
    });
    let machine = json!({
        "name": "n", "definition": "{}", "roleArn": "r", "type": "EXPRESS", "publish": false,
        "tags": [{ "key": "k", "value": "" }], "loggingConfiguration": logging,
        "encryptionConfiguration": encryption, "tracingConfiguration": { "enabled": true },
    });
    check_all(&[
        ("CreateStateMachine", machine, nothing),
        ("ListActivities", json!({ "maxResults": 0, "nextToken": null }), nothing),
        ("ListActivities", json!({ "maxResults": 1000 }), nothing),
        (
            "CreateStateMachineAlias",
            json!({ "name": "PROD", "routingConfiguration": routing }),
            nothing,
        ),
        ("StopExecution", json!({ "executionArn": "a", "error": "", "cause": "" }), nothing),
        ("UpdateMapRun", json!({ "mapRunArn": "a", "toleratedFailurePercentage": 12.5 }), nothing),
        (
            "UpdateMapRun",
            json!({ "mapRunArn": "a", "toleratedFailureCount": 1_i64 << 40 }),
            nothing,
        ),
        ("StartExecution", json!({ "stateMachineArn": "a", "unheardOf": [{}] }), nothing),
        ("StartExecution", json!({ "stateMachineArn": "a", "name": "ä".repeat(80) }), nothing),
    ]);
}

#[test]
fn lengths() {
    violates(
        "StartExecution",
        json!({ "stateMachineArn": "a", "name": "x".repeat(81) }),
        &format!(
            "'{}' at 'name' failed to satisfy constraint: \
             Member must have length less than or equal to 80",
            "x".repeat(81)
        ),
    );
    violates(
        "DescribeExecution",
        json!({ "executionArn": "" }),
        "'' at 'executionArn' failed to satisfy constraint: \
         Member must have length greater than or equal to 1",
    );
}

#[test]
fn what_is_sensitive_is_not_repeated() {
    violates(
        "CreateStateMachine",
        json!({ "name": "n", "roleArn": "r", "definition": "" }),
        "at 'definition' failed to satisfy constraint: \
         Member must have length greater than or equal to 1",
    );
    violates(
        "SendTaskHeartbeat",
        json!({ "taskToken": "t".repeat(2049) }),
        "at 'taskToken' failed to satisfy constraint: \
         Member must have length less than or equal to 2048",
    );
}

#[test]
fn payloads_are_measured_in_bytes() {
    let too_long = "at 'input' failed to satisfy constraint: \
                    Member must have length less than or equal to 262144";
    let of =
        |text: &str, count: usize| json!({ "stateMachineArn": "a", "input": text.repeat(count) });
    check_one("StartExecution", of("x", 262_144), None);
    check_one("StartExecution", of("ä", 131_072), None);
    violates("StartExecution", of("x", 262_145), too_long);
    violates("StartExecution", of("ä", 131_073), too_long);
}

#[test]
fn ranges() {
    let page = |max: i64| json!({ "maxResults": max });
    violates(
        "ListStateMachines",
        page(1001),
        "'1001' at 'maxResults' failed to satisfy constraint: \
         Member must have value less than or equal to 1000",
    );
    violates(
        "ListStateMachines",
        page(-1),
        "'-1' at 'maxResults' failed to satisfy constraint: \
         Member must have value greater than or equal to 0",
    );
    violates(
        "UpdateMapRun",
        json!({ "mapRunArn": "a", "toleratedFailurePercentage": 100.5 }),
        "'100.5' at 'toleratedFailurePercentage' failed to satisfy constraint: \
         Member must have value less than or equal to 100",
    );
}

#[test]
fn enumerations_and_patterns() {
    violates(
        "ListExecutions",
        json!({ "statusFilter": "running" }),
        "'running' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value \
         set: [RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE]",
    );
    violates(
        "RedriveExecution",
        json!({ "executionArn": "a", "clientToken": "a b" }),
        "'a b' at 'clientToken' failed to satisfy constraint: \
         Member must satisfy regular expression pattern: [!-~]+",
    );
    violates(
        "CreateStateMachineAlias",
        json!({ "name": "1", "routingConfiguration": [{ "stateMachineVersionArn": "a", "weight": 1 }] }),
        "'1' at 'name' failed to satisfy constraint: Member must satisfy regular expression \
         pattern: ^(?=.*[a-zA-Z_\\-\\.])[a-zA-Z0-9_\\-\\.]+$",
    );
}

#[test]
fn nested_places() {
    let machine = |extra: Value| {
        let mut body = json!({ "name": "n", "definition": "{}", "roleArn": "r" });
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        body
    };
    violates(
        "CreateStateMachine",
        machine(json!({ "tags": [{ "key": "a" }, { "key": "" }] })),
        "'' at 'tags.2.member.key' failed to satisfy constraint: \
         Member must have length greater than or equal to 1",
    );
    violates(
        "CreateStateMachine",
        machine(json!({ "tags": [null] })),
        "null at 'tags.1.member' failed to satisfy constraint: Member must not be null",
    );
    violates(
        "CreateStateMachine",
        machine(json!({ "encryptionConfiguration": {} })),
        "null at 'encryptionConfiguration.type' failed to satisfy constraint: Member must not be null",
    );
    let destinations = json!([{ "cloudWatchLogsLogGroup": { "logGroupArn": "" } }]);
    violates(
        "CreateStateMachine",
        machine(json!({ "loggingConfiguration": { "destinations": destinations } })),
        "'' at 'loggingConfiguration.destinations.1.member.cloudWatchLogsLogGroup.logGroupArn' failed \
         to satisfy constraint: Member must have length greater than or equal to 1",
    );
}

#[test]
fn lists() {
    let alias =
        |routing: Value| json!({ "stateMachineAliasArn": "a", "routingConfiguration": routing });
    violates(
        "UpdateStateMachineAlias",
        alias(json!([])),
        "'[]' at 'routingConfiguration' failed to satisfy constraint: \
         Member must have length greater than or equal to 1",
    );
    let item = json!({ "stateMachineVersionArn": "v", "weight": 1 });
    violates(
        "UpdateStateMachineAlias",
        alias(json!([item, item, item])),
        &format!(
            "'[{0}, {0}, {0}]' at 'routingConfiguration' failed to satisfy constraint: \
             Member must have length less than or equal to 2",
            "RoutingConfigurationListItem(stateMachineVersionArn=v, weight=1)"
        ),
    );
    violates(
        "UntagResource",
        json!({ "resourceArn": "a", "tagKeys": ["a", ""] }),
        "'[a, ]' at 'tagKeys' failed to satisfy constraint: Member must satisfy constraint: [Member \
         must have length less than or equal to 128, Member must have length greater than or equal to \
         1, Member must not be null]",
    );
}

#[test]
fn several_are_counted_and_joined() {
    let message = "3 validation errors detected: \
        Value 'X' at 'statusFilter' failed to satisfy constraint: Member must satisfy enum value set: \
        [RUNNING, SUCCEEDED, FAILED, TIMED_OUT, ABORTED, PENDING_REDRIVE]; \
        Value '5000' at 'maxResults' failed to satisfy constraint: \
        Member must have value less than or equal to 1000; \
        Value '' at 'mapRunArn' failed to satisfy constraint: \
        Member must have length greater than or equal to 1";
    let body = json!({ "mapRunArn": "", "maxResults": 5000, "statusFilter": "X" });
    check_one("ListExecutions", body, Some((VALIDATION, message)));
}

#[test]
fn an_answer_does_not_list_more_than_a_hundred() {
    let tags: Vec<_> = (0..10_000).map(|_| json!({ "key": "" })).collect();
    let error = check(Operation::TagResource, &json!({ "resourceArn": "a", "tags": tags }));
    let message = error.unwrap_err().message().to_owned();
    assert!(message.starts_with("100 validation errors detected: "), "{message}");
    assert!(message.len() < 20_000);
}

#[test]
fn other_types() {
    let list = "Start of list found where not expected";
    let map = "Start of structure or map found where not expected.";
    let field = "Unexpected field type";
    let cases = [
        ("StartExecution", "name", json!(1), "NUMBER_VALUE can not be converted to a String"),
        ("StartExecution", "name", json!(1.5), "DECIMAL_VALUE can not be converted to a String"),
        ("StartExecution", "name", json!(true), "TRUE_VALUE can not be converted to a String"),
        ("StartExecution", "name", json!(false), "FALSE_VALUE can not be converted to a String"),
        ("StartExecution", "input", json!({}), map),
        ("StartExecution", "input", json!([]), list),
        (
            "ListExecutions",
            "maxResults",
            json!("1"),
            "STRING_VALUE can not be converted to an Integer",
        ),
        (
            "ListExecutions",
            "maxResults",
            json!(1.5),
            "DECIMAL_VALUE can not be converted to an Integer",
        ),
        (
            "ListExecutions",
            "maxResults",
            json!(1_i64 << 40),
            "NUMBER_VALUE can not be converted to an Integer",
        ),
        (
            "UpdateMapRun",
            "toleratedFailureCount",
            json!(u64::MAX),
            "NUMBER_VALUE can not be converted to a Long",
        ),
        (
            "UpdateMapRun",
            "toleratedFailurePercentage",
            json!("5"),
            "STRING_VALUE can not be converted to a Float",
        ),
        (
            "GetExecutionHistory",
            "reverseOrder",
            json!(1),
            "NUMBER_VALUE can not be converted to a Boolean",
        ),
        (
            "GetExecutionHistory",
            "reverseOrder",
            json!("true"),
            "STRING_VALUE can not be converted to a Boolean",
        ),
        ("TagResource", "tags", json!("a"), field),
        ("TagResource", "tags", json!({}), map),
        ("TagResource", "tags", json!([1]), field),
        (
            "TagResource",
            "tags",
            json!([{ "key": 1 }]),
            "NUMBER_VALUE can not be converted to a String",
        ),
        ("CreateStateMachine", "loggingConfiguration", json!([]), list),
        ("CreateStateMachine", "loggingConfiguration", json!("OFF"), field),
    ];
    for (name, member, value, said) in cases {
        // Before anything else: what is missing is not looked at.
        check_one(name, json!({ member: value }), Some((SERIALIZATION, said)));
    }
    check_one("StartExecution", json!([]), Some((SERIALIZATION, list)));
    check_one("StartExecution", json!("x"), Some((SERIALIZATION, field)));
    let null = "the body of the request must be a JSON object";
    check_one("StartExecution", json!(null), Some((SERIALIZATION, null)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_body_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200), which in 0..37_usize) {
        if let Ok(body) = read(&bytes) {
            let _ = check(Operation::ALL[which], &body);
        }
    }

    /// Values of any type at every member: an answer, never a panic.
    #[test]
    fn no_value_panics(which in 0..37_usize, kind in 0..8_usize) {
        let operation = Operation::ALL[which];
        let values = [
            json!(null), json!(true), json!(-1), json!(1e300), json!(""), json!("x"), json!([null, 1]),
            json!({ "key": null }),
        ];
        let members = operation.input().members().iter();
        let body: Value =
            members.map(|member| (member.name.to_owned(), values[kind].clone())).collect();
        let _ = check(operation, &body);
    }
}
