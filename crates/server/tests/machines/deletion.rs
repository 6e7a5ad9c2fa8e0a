//! Machines that are deleted: at once, or when their executions are over.

use serde_json::{Value, json};

use crate::house::{House, ROLE, create, machine_arn, pass, task, with};

fn of(arn: &str) -> Value {
    json!({ "stateMachineArn": arn })
}

#[tokio::test]
async fn a_machine_goes_with_all_that_is_its() {
    let house = House::new();
    let arn = house.machine("m").await;
    let other = house.machine("mm").await;
    let version = house.publish_changed(&arn, "a").await;
    let routes = json!([{ "stateMachineVersionArn": version, "weight": 100 }]);
    let alias = json!({ "name": "PROD", "routingConfiguration": routes });
    house.call("CreateStateMachineAlias", alias).await;
    let start = json!({ "stateMachineArn": arn, "name": "e" });
    let execution = house.call("StartExecution", start.clone()).await["executionArn"].clone();
    house.check("DeleteStateMachine", of(&arn), json!({})).await;
    house.check("DeleteStateMachine", of(&arn), json!({})).await;
    for gone in [arn.clone(), version, format!("{arn}:PROD")] {
        let missing = format!("StateMachineDoesNotExist: State Machine Does Not Exist: '{gone}'");
        house.refused("DescribeStateMachine", of(&gone), &missing).await;
    }
    let missing = format!(
        "ExecutionDoesNotExist: Execution Does Not Exist: '{}'",
        execution.as_str().expect("an ARN")
    );
    let described = json!({ "executionArn": execution });
    house.refused("DescribeExecution", described.clone(), &missing).await;
    house.call("DescribeStateMachine", of(&other)).await;
    // What executions ran by is the engine's, and kept.
    for key in house.keys("").iter().filter(|key| !key.starts_with("revision/")) {
        assert!(key.contains(&other), "{key}");
    }
    // The name is free, and nothing is left of what had it.
    let created = with(create("m"), json!({ "definition": task() }));
    house.call("CreateStateMachine", created).await;
    house.check("ListStateMachineVersions", of(&arn), json!({ "stateMachineVersions": [] })).await;
    house.check("ListStateMachineAliases", of(&arn), json!({ "stateMachineAliases": [] })).await;
    house.call("StartExecution", start).await;
    assert_eq!(house.call("DescribeExecution", described).await["status"], "RUNNING");
}

#[tokio::test]
async fn many_executions_go_with_their_machine() {
    let house = House::new();
    let arn = house.machine("m").await;
    for number in 0..1200 {
        let start = json!({ "stateMachineArn": arn, "name": number.to_string() });
        house.call("StartExecution", start).await;
    }
    house.call("DeleteStateMachine", of(&arn)).await;
    let execution = arn.replace(":stateMachine:", ":execution:") + ":7";
    until_gone(&house, &arn).await;
    let missing = format!("ExecutionDoesNotExist: Execution Does Not Exist: '{execution}'");
    house.refused("DescribeExecution", json!({ "executionArn": execution }), &missing).await;
}

/// Asks until the machine is not there any more.
async fn until_gone(house: &House, arn: &str) {
    let operation = everstep_api::protocol::Operation::DescribeStateMachine;
    loop {
        match house.service.call(operation, &of(arn)).await {
            Ok(machine) => assert_eq!(machine["status"], "DELETING"),
            Err(error) => return assert_eq!(error.name(), "StateMachineDoesNotExist"),
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_machine_waits_for_its_executions() {
    let house = House::new();
    let arn = machine_arn("m");
    let create = with(create("m"), json!({ "definition": task(), "publish": true }));
    house.call("CreateStateMachine", create.clone()).await;
    let start = json!({ "stateMachineArn": arn, "name": "e" });
    let execution = house.call("StartExecution", start.clone()).await["executionArn"].clone();
    house.check("DeleteStateMachine", of(&arn), json!({})).await;
    let machine = house.call("DescribeStateMachine", of(&arn)).await;
    assert_eq!((&machine["status"], &machine["definition"]), (&json!("DELETING"), &json!(task())));
    let listed = house.call("ListStateMachines", json!({})).await;
    assert_eq!(listed["stateMachines"].as_array().map(Vec::len), Some(1));
    let of_execution = json!({ "executionArn": execution });
    let running = house.call("DescribeStateMachineForExecution", of_execution.clone()).await;
    assert_eq!(running["definition"], task());
    let refused = format!("StateMachineDeleting: State Machine is being deleted: '{arn}'");
    house.refused("StartExecution", json!({ "stateMachineArn": arn }), &refused).await;
    house.refused("CreateStateMachine", create.clone(), &refused).await;
    let update = json!({ "stateMachineArn": arn, "definition": pass() });
    house.refused("UpdateStateMachine", update, &refused).await;
    house.refused("PublishStateMachineVersion", of(&arn), &refused).await;
    house.refused("ListStateMachineAliases", of(&arn), &refused).await;
    let routes = json!([{ "stateMachineVersionArn": format!("{arn}:1"), "weight": 100 }]);
    let alias = json!({ "name": "PROD", "routingConfiguration": routes });
    house.refused("CreateStateMachineAlias", alias, &refused).await;
    house.finish_a_task().await;
    until_gone(&house, &arn).await;
    let listed = json!({ "stateMachines": [] });
    house.check("ListStateMachines", json!({}), listed).await;
    house.call("CreateStateMachine", create).await;
}

/// Nobody asks for the machine: it goes all the same.
#[tokio::test(start_paused = true)]
async fn machines_are_looked_after() {
    let house = House::new();
    let arn = machine_arn("m");
    let body = json!({ "name": "m", "definition": task(), "roleArn": ROLE });
    house.call("CreateStateMachine", body).await;
    let start = json!({ "stateMachineArn": arn, "name": "e" });
    let execution = house.call("StartExecution", start).await["executionArn"].clone();
    house.call("DeleteStateMachine", of(&arn)).await;
    house.finish_a_task().await;
    let operation = everstep_api::protocol::Operation::DescribeExecution;
    let described = json!({ "executionArn": execution });
    while house.service.call(operation, &described).await.is_ok() {
        // Time is the runtime's own here: it goes by when nothing else is left to do.
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn what_is_no_machine_is_not_deleted() {
    let house = House::new();
    house.check("DeleteStateMachine", of(&machine_arn("none")), json!({})).await;
    let arn = house.machine("m").await;
    let labelled = format!("{arn}/map");
    let expected = format!(
        "ValidationException: This API does not support labelled state machine ARNs: '{labelled}'"
    );
    house.refused("DeleteStateMachine", of(&labelled), &expected).await;
    let version = format!("{arn}:1");
    let expected =
        format!("InvalidArn: Invalid Arn: 'Resource type not valid in this context: {version}'");
    house.refused("DeleteStateMachine", of(&version), &expected).await;
    house.call("DescribeStateMachine", of(&arn)).await;
}
