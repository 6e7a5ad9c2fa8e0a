//! Machines as they are created, found again and described.

use serde_json::{Value, json};

use crate::fixture::{Fixture, NOW, ROLE, create, machine_arn, pass, task, with};

const EXISTS: &str = "StateMachineAlreadyExists: State Machine Already Exists: \
                      'arn:aws:states:us-east-1:123456789012:stateMachine:m'";

fn described(name: &str) -> Value {
    json!({
        "stateMachineArn": machine_arn(name),
        "name": name,
        "status": "ACTIVE",
        "definition": pass(),
        "type": "STANDARD",
        "creationDate": NOW,
        "roleArn": ROLE,
        "loggingConfiguration": { "level": "OFF", "includeExecutionData": false },
        "tracingConfiguration": { "enabled": false },
        "encryptionConfiguration": { "type": "AWS_OWNED_KEY" },
    })
}

#[tokio::test]
async fn a_machine_is_created_and_described() {
    let fixture = Fixture::new();
    let created = json!({ "stateMachineArn": machine_arn("m"), "creationDate": NOW });
    fixture.check("CreateStateMachine", create("m"), created).await;
    let describe = json!({ "stateMachineArn": machine_arn("m") });
    fixture.check("DescribeStateMachine", describe.clone(), described("m")).await;
    let bare = with(describe, json!({ "includedData": "METADATA_ONLY" }));
    let expected = with(described("m"), json!({ "definition": "{}" }));
    fixture.check("DescribeStateMachine", bare, expected).await;
}

#[tokio::test]
async fn configurations_are_shown_as_they_were_given() {
    let fixture = Fixture::new();
    let group = "arn:aws:logs:us-east-1:123456789012:log-group:g:*";
    let destinations = json!([{ "cloudWatchLogsLogGroup": { "logGroupArn": group } }]);
    let given = json!({
        "type": "EXPRESS",
        "loggingConfiguration": { "level": "ALL", "destinations": destinations },
        "tracingConfiguration": { "enabled": true },
        "encryptionConfiguration": { "type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k" },
    });
    fixture.call("CreateStateMachine", with(create("m"), given)).await;
    let expected = json!({
        "type": "EXPRESS",
        "loggingConfiguration":
            { "level": "ALL", "includeExecutionData": false, "destinations": destinations },
        "tracingConfiguration": { "enabled": true },
        "encryptionConfiguration": {
            "type": "CUSTOMER_MANAGED_KMS_KEY",
            "kmsKeyId": "k",
            "kmsDataKeyReusePeriodSeconds": 300,
        },
    });
    let describe = json!({ "stateMachineArn": machine_arn("m") });
    fixture.check("DescribeStateMachine", describe, with(described("m"), expected)).await;
}

#[tokio::test]
async fn logging_that_is_off_is_shown_as_it_was_given() {
    let fixture = Fixture::new();
    let cases = [
        ("a", json!({}), json!({ "level": "OFF", "includeExecutionData": false })),
        (
            "b",
            json!({ "destinations": [] }),
            json!({ "level": "OFF", "includeExecutionData": false, "destinations": [] }),
        ),
    ];
    for (name, given, shown) in cases {
        let body = with(create(name), json!({ "loggingConfiguration": given }));
        fixture.call("CreateStateMachine", body).await;
        let describe = json!({ "stateMachineArn": machine_arn(name) });
        let expected = with(described(name), json!({ "loggingConfiguration": shown }));
        fixture.check("DescribeStateMachine", describe, expected).await;
    }
}

#[tokio::test]
async fn variables_that_states_read_are_shown() {
    let fixture = Fixture::new();
    let assign = json!({ "Type": "Pass", "Assign": { "x": 1 }, "Next": "B" });
    let read = json!({ "Type": "Pass", "Parameters": { "y.$": "$x" }, "End": true });
    let definition = json!({ "StartAt": "A", "States": { "A": assign, "B": read } }).to_string();
    fixture
        .call("CreateStateMachine", with(create("m"), json!({ "definition": definition })))
        .await;
    let answer =
        fixture.call("DescribeStateMachine", json!({ "stateMachineArn": machine_arn("m") })).await;
    assert_eq!(answer["variableReferences"], json!({ "B": ["x"] }));
}

#[tokio::test]
async fn a_request_that_is_repeated_finds_the_machine() {
    let fixture = Fixture::new();
    let created = json!({ "stateMachineArn": machine_arn("m"), "creationDate": NOW });
    fixture.check("CreateStateMachine", create("m"), created.clone()).await;
    fixture.pass_seconds(5);
    // Role and tags are not compared, and what is the default may be said.
    for same in [
        json!({}),
        json!({ "roleArn": "arn:aws:iam::123456789012:role/other", "tags": [{ "key": "k", "value": "v" }] }),
        json!({ "type": "STANDARD", "publish": false }),
        json!({ "loggingConfiguration": { "level": "OFF" } }),
        json!({ "tracingConfiguration": { "enabled": false } }),
        json!({ "encryptionConfiguration": { "type": "AWS_OWNED_KEY" } }),
    ] {
        fixture.check("CreateStateMachine", with(create("m"), same), created.clone()).await;
    }
    let tags = json!({ "resourceArn": machine_arn("m") });
    fixture.check("ListTagsForResource", tags, json!({ "tags": [] })).await;
    let key = json!({ "type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k" });
    for different in [
        json!({ "definition": task() }),
        json!({ "definition": format!("{} ", pass()) }),
        json!({ "type": "EXPRESS" }),
        json!({ "publish": true }),
        json!({ "loggingConfiguration": { "includeExecutionData": true } }),
        json!({ "tracingConfiguration": { "enabled": true } }),
        json!({ "encryptionConfiguration": key }),
    ] {
        fixture.refused("CreateStateMachine", with(create("m"), different), EXISTS).await;
    }
}

#[tokio::test]
async fn a_first_version_is_compared_as_it_was_asked_for() {
    let fixture = Fixture::new();
    let body = with(create("m"), json!({ "publish": true, "versionDescription": "first" }));
    let created = json!({
        "stateMachineArn": machine_arn("m"),
        "creationDate": NOW,
        "stateMachineVersionArn": format!("{}:1", machine_arn("m")),
    });
    fixture.check("CreateStateMachine", body.clone(), created.clone()).await;
    let version = json!({ "stateMachineVersionArn": format!("{}:1", machine_arn("m")) });
    fixture.check("DeleteStateMachineVersion", version, json!({})).await;
    fixture.check("CreateStateMachine", body.clone(), created).await;
    let other = with(body, json!({ "versionDescription": "second" }));
    fixture.refused("CreateStateMachine", other, EXISTS).await;
    fixture.refused("CreateStateMachine", create("m"), EXISTS).await;
    // A version that was published later changes nothing about how the machine was created.
    let later = fixture.machine("n").await;
    fixture.call("PublishStateMachineVersion", json!({ "stateMachineArn": later })).await;
    fixture.call("CreateStateMachine", create("n")).await;
}

#[tokio::test]
async fn what_cannot_be_created_is_refused() {
    let fixture = Fixture::new();
    let one = "InvalidLoggingConfiguration: Invalid Logging Configuration: Must specify exactly one \
               Log Destination.";
    let group =
        json!({ "cloudWatchLogsLogGroup": { "logGroupArn": "arn:aws:logs:r:1:log-group:g:*" } });
    let cases = [
        (json!({ "name": "a b" }), "InvalidName: Invalid Name: 'a b'"),
        (json!({ "roleArn": "role" }), "InvalidArn: Invalid Role Arn: 'role'"),
        (
            json!({ "roleArn": "arn:aws:iam::aws:policy/P" }),
            "InvalidArn: Invalid Role Arn: 'arn:aws:iam::aws:policy/P'",
        ),
        (
            json!({ "roleArn": "arn:aws:iam::1234:role/r" }),
            "InvalidArn: Invalid Role Arn: 'arn:aws:iam::1234:role/r'",
        ),
        (
            json!({ "roleArn": "arn:aws:iam::12345678901x:role/r" }),
            "InvalidArn: Invalid Role Arn: 'arn:aws:iam::12345678901x:role/r'",
        ),
        (
            json!({ "definition": "{}" }),
            "InvalidDefinition: Invalid State Machine Definition: 'SCHEMA_VALIDATION_FAILED: These \
             fields are required: [States, StartAt] at /'",
        ),
        (json!({ "loggingConfiguration": { "level": "FATAL" } }), one),
        (
            json!({ "loggingConfiguration": { "level": "OFF", "destinations": [group, group] } }),
            one,
        ),
        (
            json!({ "loggingConfiguration": { "level": "ALL", "destinations": [{}] } }),
            "InvalidLoggingConfiguration: Invalid Logging Configuration: Log Destination must be the \
             ARN of a CloudWatch log group.",
        ),
        (
            json!({ "tracingConfiguration": {} }),
            "InvalidTracingConfiguration: Invalid Tracing Configuration: 'enabled' must be true or \
             false.",
        ),
        (
            json!({ "encryptionConfiguration": { "type": "CUSTOMER_MANAGED_KMS_KEY" } }),
            "InvalidEncryptionConfiguration: Invalid Encryption Configuration: kmsKeyId is required \
             for CUSTOMER_MANAGED_KMS_KEY.",
        ),
        (
            json!({ "encryptionConfiguration": { "type": "AWS_OWNED_KEY", "kmsKeyId": "k" } }),
            "InvalidEncryptionConfiguration: Invalid Encryption Configuration: kmsKeyId and \
             kmsDataKeyReusePeriodSeconds are only for CUSTOMER_MANAGED_KMS_KEY.",
        ),
        (
            json!({ "versionDescription": "d" }),
            "ValidationException: Version description can only be set when publish is true",
        ),
    ];
    for (members, expected) in cases {
        fixture.refused("CreateStateMachine", with(create("m"), members), expected).await;
    }
    fixture.check("ListStateMachines", json!({}), json!({ "stateMachines": [] })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_creations_at_once_one_counts() {
    let fixture = std::sync::Arc::new(Fixture::new());
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..16 {
        let fixture = fixture.clone();
        tasks.spawn(async move {
            let comment = json!({ "Comment": format!("{number}"), "StartAt": "A",
                "States": { "A": { "Type": "Succeed" } } });
            let body = with(create("m"), json!({ "definition": comment.to_string() }));
            let operation = everstep_api::protocol::Operation::CreateStateMachine;
            match fixture.service.call(operation, &body).await {
                Ok(_) => 1,
                Err(error) => {
                    assert_eq!(error.to_string(), EXISTS);
                    0
                }
            }
        });
    }
    assert_eq!(tasks.join_all().await.into_iter().sum::<usize>(), 1);
}

#[tokio::test]
async fn descriptions_of_what_is_not_there_are_refused() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    for missing in
        [machine_arn("n"), format!("{arn}:1"), format!("{arn}:PROD"), format!("{arn}/map")]
    {
        let expected =
            format!("StateMachineDoesNotExist: State Machine Does Not Exist: '{missing}'");
        let body = json!({ "stateMachineArn": missing });
        fixture.refused("DescribeStateMachine", body, &expected).await;
    }
    let activity = "arn:aws:states:us-east-1:123456789012:activity:a";
    let expected =
        format!("InvalidArn: Invalid Arn: 'Resource type not valid in this context: {activity}'");
    fixture
        .refused("DescribeStateMachine", json!({ "stateMachineArn": activity }), &expected)
        .await;
    let expected = "InvalidArn: Invalid Arn: 'Invalid ARN prefix: m'";
    fixture.refused("DescribeStateMachine", json!({ "stateMachineArn": "m" }), expected).await;
}
