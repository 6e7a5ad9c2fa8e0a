//! Versions: one for each revision that is published.

use everstep_api::protocol::Operation;
use serde_json::{Value, json};

use crate::fixture::{Fixture, NOW, machine_arn, pass};

fn of(arn: &str) -> Value {
    json!({ "stateMachineArn": arn })
}

#[tokio::test]
async fn a_revision_has_one_version() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let first = json!({ "stateMachineVersionArn": format!("{arn}:1"), "creationDate": NOW });
    fixture.check("PublishStateMachineVersion", of(&arn), first.clone()).await;
    fixture.pass_seconds(1);
    let again = json!({ "stateMachineArn": arn, "revisionId": "INITIAL", "description": "d" });
    fixture.check("PublishStateMachineVersion", again, first).await;
    let described = fixture.call("DescribeStateMachine", of(&format!("{arn}:1"))).await;
    assert_eq!(described["stateMachineArn"], format!("{arn}:1"));
    assert_eq!((&described["revisionId"], &described["description"]), (&Value::Null, &Value::Null));
    assert_eq!(described["definition"], pass());
}

#[tokio::test]
async fn a_version_is_of_the_revision_that_is_meant() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let role = "arn:aws:iam::123456789012:role/other";
    let update = json!({ "stateMachineArn": arn, "roleArn": role });
    let revision = fixture.call("UpdateStateMachine", update).await["revisionId"].clone();
    let stale = json!({ "stateMachineArn": arn, "revisionId": "INITIAL" });
    let expected = format!(
        "ConflictException: Failed to publish the State Machine version for revision INITIAL. The \
         current State Machine revision is {}.",
        revision.as_str().expect("an id")
    );
    fixture.refused("PublishStateMachineVersion", stale, &expected).await;
    let body = json!({ "stateMachineArn": arn, "revisionId": revision, "description": "d" });
    fixture.pass_seconds(1);
    let published = fixture.call("PublishStateMachineVersion", body).await;
    assert_eq!(published["stateMachineVersionArn"], format!("{arn}:1"));
    let described = fixture.call("DescribeStateMachine", of(&format!("{arn}:1"))).await;
    assert_eq!(described["revisionId"], revision);
    assert_eq!(described["description"], "d");
    assert_eq!(described["creationDate"], NOW + 1.0);
}

#[tokio::test]
async fn numbers_are_not_used_twice() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    fixture.call("PublishStateMachineVersion", of(&arn)).await;
    let delete = json!({ "stateMachineVersionArn": format!("{arn}:1") });
    fixture.check("DeleteStateMachineVersion", delete.clone(), json!({})).await;
    fixture.check("DeleteStateMachineVersion", delete, json!({})).await;
    let start = json!({ "stateMachineArn": format!("{arn}:1") });
    let missing = format!("StateMachineDoesNotExist: State Machine Does Not Exist: '{arn}:1'");
    fixture.refused("StartExecution", start, &missing).await;
    fixture.refused("DescribeStateMachine", of(&format!("{arn}:1")), &missing).await;
    let published = fixture.call("PublishStateMachineVersion", of(&arn)).await;
    assert_eq!(published["stateMachineVersionArn"], format!("{arn}:2"));
    let versions = json!({ "stateMachineVersions": [
        { "stateMachineVersionArn": format!("{arn}:2"), "creationDate": NOW },
    ] });
    fixture.check("ListStateMachineVersions", of(&arn), versions).await;
}

#[tokio::test]
async fn a_version_that_an_alias_leads_to_stays() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let version = fixture.publish_changed(&arn, "a").await;
    for name in ["PROD", "BETA"] {
        let routes = json!([{ "stateMachineVersionArn": version, "weight": 100 }]);
        let body = json!({ "name": name, "routingConfiguration": routes });
        fixture.call("CreateStateMachineAlias", body).await;
    }
    let delete = json!({ "stateMachineVersionArn": version });
    let expected = "ConflictException: Version to be deleted must not be referenced by an alias. \
                    Current list of aliases referencing this version: [BETA, PROD]";
    fixture.refused("DeleteStateMachineVersion", delete.clone(), expected).await;
    for name in ["PROD", "BETA"] {
        let alias = json!({ "stateMachineAliasArn": format!("{arn}:{name}") });
        fixture.check("DeleteStateMachineAlias", alias, json!({})).await;
    }
    fixture.check("DeleteStateMachineVersion", delete, json!({})).await;
}

#[tokio::test]
async fn versions_of_what_is_not_there() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let none = machine_arn("none");
    let missing = format!("StateMachineDoesNotExist: State Machine Does Not Exist: '{none}'");
    fixture.refused("PublishStateMachineVersion", of(&none), &missing).await;
    fixture
        .check("ListStateMachineVersions", of(&none), json!({ "stateMachineVersions": [] }))
        .await;
    let labelled = format!("{arn}/map");
    let expected = format!(
        "ValidationException: This API does not support labelled state machine ARNs: '{labelled}'"
    );
    fixture.refused("PublishStateMachineVersion", of(&labelled), &expected).await;
    fixture.refused("ListStateMachineVersions", of(&labelled), &expected).await;
    let delete = json!({ "stateMachineVersionArn": format!("{labelled}:1") });
    let expected = expected.replace(&labelled, &format!("{labelled}:1"));
    fixture.refused("DeleteStateMachineVersion", delete, &expected).await;
    for wrong in [arn.clone(), format!("{arn}:PROD")] {
        let expected =
            format!("InvalidArn: Invalid Arn: 'Resource type not valid in this context: {wrong}'");
        let delete = json!({ "stateMachineVersionArn": wrong });
        fixture.refused("DeleteStateMachineVersion", delete, &expected).await;
    }
}

/// Whichever comes first: no alias leads to a version that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn aliases_and_deletions_at_once() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let call = async |operation: Operation, body: Value| {
        let answer = fixture.service.call(operation, &body).await;
        answer.map_err(|error| error.name())
    };
    for round in 0..50 {
        let version = fixture.publish_changed(&arn, &format!("r{round}")).await;
        let routes = json!([{ "stateMachineVersionArn": version, "weight": 100 }]);
        let alias = json!({ "name": format!("a{round}"), "routingConfiguration": routes });
        let delete = json!({ "stateMachineVersionArn": version });
        let (created, deleted) = tokio::join!(
            call(Operation::CreateStateMachineAlias, alias),
            call(Operation::DeleteStateMachineVersion, delete),
        );
        match (created, deleted) {
            (Ok(_), deleted) => assert_eq!(deleted, Err("ConflictException")),
            (created, deleted) => {
                assert_eq!(created, Err("ResourceNotFound"));
                assert_eq!(deleted, Ok(json!({})));
            }
        }
    }
}

#[tokio::test]
async fn a_machine_has_so_many_versions() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    for number in 1..=1000 {
        fixture.publish_changed(&arn, &number.to_string()).await;
    }
    let update = json!({ "stateMachineArn": arn, "roleArn": "arn:aws:iam::123456789012:role/x" });
    fixture.call("UpdateStateMachine", update).await;
    let expected = "ServiceQuotaExceededException: The state machine has 1000 versions: delete one \
                    to publish another";
    fixture.refused("PublishStateMachineVersion", of(&arn), expected).await;
    let delete = json!({ "stateMachineVersionArn": format!("{arn}:7") });
    fixture.call("DeleteStateMachineVersion", delete).await;
    let published = fixture.call("PublishStateMachineVersion", of(&arn)).await;
    assert_eq!(published["stateMachineVersionArn"], format!("{arn}:1001"));
}
