//! Updates, and the revisions they make.

use serde_json::{Value, json};

use crate::fixture::{Fixture, NOW, ROLE, create, machine_arn, pass, task, with};

fn update(arn: &str, members: Value) -> Value {
    with(json!({ "stateMachineArn": arn }), members)
}

#[tokio::test]
async fn each_change_makes_a_revision() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    fixture.pass_seconds(1);
    let same = json!({ "definition": pass(), "roleArn": ROLE });
    fixture.check("UpdateStateMachine", update(&arn, same), json!({ "updateDate": NOW })).await;
    let mut known = Vec::new();
    for change in [
        json!({ "definition": task() }),
        json!({ "roleArn": "arn:aws:iam::123456789012:role/other" }),
        json!({ "tracingConfiguration": { "enabled": true } }),
        json!({ "loggingConfiguration": { "includeExecutionData": true } }),
        json!({ "encryptionConfiguration": { "type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k" } }),
        json!({ "definition": pass() }),
    ] {
        let answer = fixture.call("UpdateStateMachine", update(&arn, change.clone())).await;
        assert_eq!(answer["updateDate"], NOW + 1.0);
        let revision = answer["revisionId"].as_str().expect("an id").to_owned();
        assert!(!known.contains(&revision), "{change}");
        let machine = fixture.call("DescribeStateMachine", update(&arn, json!({}))).await;
        assert_eq!(machine["revisionId"], revision.as_str());
        for (name, value) in change.as_object().expect("an object") {
            let shown = &machine[name];
            let holds = value.as_object().is_none_or(|members| {
                members.iter().all(|(member, value)| &shown[member] == value)
            });
            assert!(holds && (value.is_object() || shown == value), "{name}: {shown}");
        }
        let again = fixture.call("UpdateStateMachine", update(&arn, change)).await;
        assert_eq!(again, answer);
        known.push(revision);
    }
}

#[tokio::test]
async fn an_update_can_publish() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let change = json!({ "definition": task(), "publish": true, "versionDescription": "first" });
    let answer = fixture.call("UpdateStateMachine", update(&arn, change.clone())).await;
    assert_eq!(answer["stateMachineVersionArn"], format!("{arn}:1"));
    let again = fixture.call("UpdateStateMachine", update(&arn, change)).await;
    assert_eq!(again, answer);
    let described = json!({ "stateMachineArn": format!("{arn}:1") });
    let version = fixture.call("DescribeStateMachine", described).await;
    assert_eq!(version["description"], "first");
    assert_eq!(version["revisionId"], answer["revisionId"]);
    let back = json!({ "definition": pass(), "publish": true });
    let answer = fixture.call("UpdateStateMachine", update(&arn, back)).await;
    assert_eq!(answer["stateMachineVersionArn"], format!("{arn}:2"));
}

/// Definitions that nothing needs are removed; those that something needs are not.
#[tokio::test]
async fn versions_keep_their_definitions() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let definition = |number: usize| {
        let states = json!({ "A": { "Type": "Succeed" } });
        json!({ "Comment": number.to_string(), "StartAt": "A", "States": states }).to_string()
    };
    for number in 1..=6 {
        let change = json!({ "definition": definition(number), "publish": number % 2 == 1 });
        fixture.call("UpdateStateMachine", update(&arn, change)).await;
    }
    // Those of the versions, of the machine and of the machine before the last update.
    assert_eq!(fixture.keys("definition/").len(), 4);
    for (version, number) in [(1, 1), (2, 3), (3, 5)] {
        let described = json!({ "stateMachineArn": format!("{arn}:{version}") });
        let version = fixture.call("DescribeStateMachine", described).await;
        assert_eq!(version["definition"], definition(number));
    }
    fixture.call("UpdateStateMachine", update(&arn, json!({ "definition": definition(2) }))).await;
    let machine = fixture.call("DescribeStateMachine", update(&arn, json!({}))).await;
    assert_eq!(machine["definition"], definition(2));
    for version in 1..=3 {
        let version = json!({ "stateMachineVersionArn": format!("{arn}:{version}") });
        fixture.call("DeleteStateMachineVersion", version).await;
    }
    assert_eq!(fixture.keys("definition/").len(), 2);
}

#[tokio::test]
async fn what_cannot_be_updated_is_refused() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let missing =
        |arn: &str| format!("StateMachineDoesNotExist: State Machine Does Not Exist: '{arn}'");
    let role = json!({ "roleArn": ROLE });
    let other = machine_arn("n");
    fixture.refused("UpdateStateMachine", update(&other, role.clone()), &missing(&other)).await;
    let version = format!("{arn}:2");
    fixture.refused("UpdateStateMachine", update(&version, role.clone()), &missing(&version)).await;
    let labelled = format!("{arn}/map");
    let expected = format!(
        "ValidationException: This API does not support labelled state machine ARNs: '{labelled}'"
    );
    fixture.refused("UpdateStateMachine", update(&labelled, role), &expected).await;
    let expected = "MissingRequiredParameter: Either the definition, the role ARN, the \
                    LoggingConfiguration, the TracingConfiguration, or the EncryptionConfiguration \
                    must be specified";
    fixture.refused("UpdateStateMachine", update(&arn, json!({ "publish": true })), expected).await;
    let cases = [
        (json!({ "roleArn": "r" }), "InvalidArn: Invalid Role Arn: 'r'"),
        (
            json!({ "definition": "[]" }),
            "InvalidDefinition: Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: \
             Definition must be a valid JSON object at null'",
        ),
        (
            json!({ "loggingConfiguration": { "level": "ALL" } }),
            "InvalidLoggingConfiguration: Invalid Logging Configuration: Must specify exactly one \
             Log Destination.",
        ),
        (
            json!({ "roleArn": ROLE, "versionDescription": "d" }),
            "ValidationException: Version description can only be set when publish is true",
        ),
    ];
    for (members, expected) in cases {
        fixture.refused("UpdateStateMachine", update(&arn, members), expected).await;
    }
}

/// An execution is described by the revision that it was started of.
#[tokio::test]
async fn executions_keep_their_revision() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let start = json!({ "stateMachineArn": arn, "name": "e" });
    let execution = fixture.call("StartExecution", start).await["executionArn"].clone();
    fixture.pass_seconds(1);
    let change = json!({ "definition": task(), "tracingConfiguration": { "enabled": true } });
    fixture.call("UpdateStateMachine", update(&arn, change)).await;
    let described = json!({
        "stateMachineArn": arn,
        "name": "m",
        "definition": pass(),
        "updateDate": NOW,
        "roleArn": ROLE,
        "loggingConfiguration": { "level": "OFF", "includeExecutionData": false },
        "tracingConfiguration": { "enabled": false },
        "encryptionConfiguration": { "type": "AWS_OWNED_KEY" },
    });
    let of = "DescribeStateMachineForExecution";
    fixture.check(of, json!({ "executionArn": execution }), described.clone()).await;
    let bare = json!({ "executionArn": execution, "includedData": "METADATA_ONLY" });
    fixture.check(of, bare, with(described, json!({ "definition": "{}" }))).await;
    let later = json!({ "stateMachineArn": arn, "name": "f" });
    let execution = fixture.call("StartExecution", later).await["executionArn"].clone();
    let answer = fixture.call(of, json!({ "executionArn": execution })).await;
    assert_eq!(answer["updateDate"], NOW + 1.0);
    assert_eq!(answer["tracingConfiguration"], json!({ "enabled": true }));
    assert!(answer["revisionId"].is_string());
    let missing = arn.replace(":stateMachine:", ":execution:") + ":none";
    let expected = format!("ExecutionDoesNotExist: Execution Does Not Exist: '{missing}'");
    fixture.refused(of, json!({ "executionArn": missing }), &expected).await;
    let expected =
        "InvalidArn: Invalid Arn: 'Resource type not valid in this context: stateMachine'";
    fixture.refused(of, json!({ "executionArn": arn }), expected).await;
}

#[tokio::test]
async fn an_express_machine_stays_one() {
    let fixture = Fixture::new();
    fixture.call("CreateStateMachine", with(create("m"), json!({ "type": "EXPRESS" }))).await;
    let states = json!({ "T": { "Type": "Task", "End": true,
        "Resource": "arn:aws:states:us-east-1:123456789012:activity:a" } });
    let definition = json!({ "StartAt": "T", "States": states }).to_string();
    let body = update(&machine_arn("m"), json!({ "definition": definition }));
    let refused =
        fixture.service.call(everstep_api::protocol::Operation::UpdateStateMachine, &body);
    assert_eq!(refused.await.expect_err("no activities").name(), "InvalidDefinition");
}
