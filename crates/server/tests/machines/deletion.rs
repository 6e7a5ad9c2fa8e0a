//! Machines that are deleted: at once, or when their executions are over.

use serde_json::{Value, json};

use crate::fixture::{Fixture, ROLE, create, machine_arn, pass, task, with};

fn of(arn: &str) -> Value {
    json!({ "stateMachineArn": arn })
}

#[tokio::test]
async fn a_machine_goes_with_all_that_is_its() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let other = fixture.machine("mm").await;
    let version = fixture.publish_changed(&arn, "a").await;
    let routes = json!([{ "stateMachineVersionArn": version, "weight": 100 }]);
    let alias = json!({ "name": "PROD", "routingConfiguration": routes });
    fixture.call("CreateStateMachineAlias", alias).await;
    let start = json!({ "stateMachineArn": arn, "name": "e" });
    let execution = fixture.call("StartExecution", start.clone()).await["executionArn"].clone();
    fixture.check("DeleteStateMachine", of(&arn), json!({})).await;
    fixture.check("DeleteStateMachine", of(&arn), json!({})).await;
    for gone in [arn.clone(), version, format!("{arn}:PROD")] {
        let missing = format!("StateMachineDoesNotExist: State Machine Does Not Exist: '{gone}'");
        fixture.refused("DescribeStateMachine", of(&gone), &missing).await;
    }
    let missing = format!(
        "ExecutionDoesNotExist: Execution Does Not Exist: '{}'",
        execution.as_str().expect("an ARN")
    );
    let described = json!({ "executionArn": execution });
    fixture.refused("DescribeExecution", described.clone(), &missing).await;
    fixture.call("DescribeStateMachine", of(&other)).await;
    // What executions ran by is the engine's, and kept; which tasks workers have is the server's.
    let own = |key: &&String| key.starts_with("revision/") || *key == "activities-mark";
    for key in fixture.keys("").iter().filter(|key| !own(key)) {
        assert!(key.contains(&other), "{key}");
    }
    // The name is free, and nothing is left of what had it.
    let created = with(create("m"), json!({ "definition": task() }));
    fixture.call("CreateStateMachine", created).await;
    fixture
        .check("ListStateMachineVersions", of(&arn), json!({ "stateMachineVersions": [] }))
        .await;
    fixture.check("ListStateMachineAliases", of(&arn), json!({ "stateMachineAliases": [] })).await;
    fixture.call("StartExecution", start).await;
    assert_eq!(fixture.call("DescribeExecution", described).await["status"], "RUNNING");
}

#[tokio::test]
async fn many_executions_go_with_their_machine() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    for number in 0..1200 {
        let start = json!({ "stateMachineArn": arn, "name": number.to_string() });
        fixture.call("StartExecution", start).await;
    }
    fixture.call("DeleteStateMachine", of(&arn)).await;
    let execution = arn.replace(":stateMachine:", ":execution:") + ":7";
    until_gone(&fixture, &arn).await;
    let missing = format!("ExecutionDoesNotExist: Execution Does Not Exist: '{execution}'");
    fixture.refused("DescribeExecution", json!({ "executionArn": execution }), &missing).await;
}

/// Asks until the machine is not there any more.
async fn until_gone(fixture: &Fixture, arn: &str) {
    let operation = everstep_api::protocol::Operation::DescribeStateMachine;
    loop {
        match fixture.service.call(operation, &of(arn)).await {
            Ok(machine) => assert_eq!(machine["status"], "DELETING"),
            Err(error) => return assert_eq!(error.name(), "StateMachineDoesNotExist"),
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_machine_waits_for_its_executions() {
    let fixture = Fixture::new();
    let arn = machine_arn("m");
    let create = with(create("m"), json!({ "definition": task(), "publish": true }));
    fixture.call("CreateStateMachine", create.clone()).await;
    let start = json!({ "stateMachineArn": arn, "name": "e" });
    let execution = fixture.call("StartExecution", start.clone()).await["executionArn"].clone();
    fixture.check("DeleteStateMachine", of(&arn), json!({})).await;
    let machine = fixture.call("DescribeStateMachine", of(&arn)).await;
    assert_eq!((&machine["status"], &machine["definition"]), (&json!("DELETING"), &json!(task())));
    let listed = fixture.call("ListStateMachines", json!({})).await;
    assert_eq!(listed["stateMachines"].as_array().map(Vec::len), Some(1));
    let of_execution = json!({ "executionArn": execution });
    let running = fixture.call("DescribeStateMachineForExecution", of_execution.clone()).await;
    assert_eq!(running["definition"], task());
    let refused = format!("StateMachineDeleting: State Machine is being deleted: '{arn}'");
    fixture.refused("StartExecution", json!({ "stateMachineArn": arn }), &refused).await;
    fixture.refused("CreateStateMachine", create.clone(), &refused).await;
    let update = json!({ "stateMachineArn": arn, "definition": pass() });
    fixture.refused("UpdateStateMachine", update, &refused).await;
    fixture.refused("PublishStateMachineVersion", of(&arn), &refused).await;
    fixture.refused("ListStateMachineAliases", of(&arn), &refused).await;
    let routes = json!([{ "stateMachineVersionArn": format!("{arn}:1"), "weight": 100 }]);
    let alias = json!({ "name": "PROD", "routingConfiguration": routes });
    fixture.refused("CreateStateMachineAlias", alias, &refused).await;
    fixture.finish_a_task().await;
    until_gone(&fixture, &arn).await;
    let listed = json!({ "stateMachines": [] });
    fixture.check("ListStateMachines", json!({}), listed).await;
    fixture.call("CreateStateMachine", create).await;
}

/// Nobody asks for the machine: it goes all the same.
#[tokio::test(start_paused = true)]
async fn machines_are_looked_after() {
    let fixture = Fixture::new();
    let arn = machine_arn("m");
    let body = json!({ "name": "m", "definition": task(), "roleArn": ROLE });
    fixture.call("CreateStateMachine", body).await;
    let start = json!({ "stateMachineArn": arn, "name": "e" });
    let execution = fixture.call("StartExecution", start).await["executionArn"].clone();
    fixture.call("DeleteStateMachine", of(&arn)).await;
    fixture.finish_a_task().await;
    let operation = everstep_api::protocol::Operation::DescribeExecution;
    let described = json!({ "executionArn": execution });
    while fixture.service.call(operation, &described).await.is_ok() {
        // Time is the runtime's own here: it goes by when nothing else is left to do.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn what_is_no_machine_is_not_deleted() {
    let fixture = Fixture::new();
    fixture.check("DeleteStateMachine", of(&machine_arn("none")), json!({})).await;
    let arn = fixture.machine("m").await;
    let labelled = format!("{arn}/map");
    let expected = format!(
        "ValidationException: This API does not support labelled state machine ARNs: '{labelled}'"
    );
    fixture.refused("DeleteStateMachine", of(&labelled), &expected).await;
    let version = format!("{arn}:1");
    let expected =
        format!("InvalidArn: Invalid Arn: 'Resource type not valid in this context: {version}'");
    fixture.refused("DeleteStateMachine", of(&version), &expected).await;
    fixture.call("DescribeStateMachine", of(&arn)).await;
}
