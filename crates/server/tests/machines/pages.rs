//! Lists of more than fits on a page.

use serde_json::{Value, json};

use crate::house::{House, create};

/// All that a list has, by pages of a size.
async fn pages(house: &House, operation: &str, member: &str, mut body: Value) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    loop {
        let page = house.call(operation, body.clone()).await;
        found.push(page[member].as_array().expect("a list").clone());
        match page.get("nextToken") {
            Some(token) => body["nextToken"] = token.clone(),
            None => return found,
        }
    }
}

#[tokio::test]
async fn lists_are_paged() {
    let house = House::new();
    for number in 0..120 {
        house.call("CreateStateMachine", create(&format!("m-{number:03}"))).await;
        house.call("CreateActivity", json!({ "name": format!("a-{number:03}") })).await;
    }
    let arn = house.machine("versions").await;
    for number in 0..120 {
        house.publish_changed(&arn, &number.to_string()).await;
    }
    let versions = json!({ "stateMachineArn": arn });
    for (operation, member, body, total) in [
        ("ListStateMachines", "stateMachines", json!({}), 121),
        ("ListActivities", "activities", json!({}), 120),
        ("ListStateMachineVersions", "stateMachineVersions", versions, 120),
    ] {
        let all = pages(&house, operation, member, body.clone()).await;
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [100, total - 100]);
        let all = all.concat();
        for size in [0, 1, 7, 60, 120, 121, 1000] {
            let mut body = body.clone();
            body["maxResults"] = size.into();
            let found = pages(&house, operation, member, body).await;
            let size = if size == 0 { 100 } else { size };
            assert!(found.iter().all(|page| page.len() <= size));
            assert_eq!(found.len(), total.div_ceil(size), "{operation} by {size}");
            assert_eq!(found.concat(), all, "{operation} by {size}");
        }
    }
    let body = json!({ "stateMachineArn": arn, "maxResults": 2 });
    let latest = house.call("ListStateMachineVersions", body).await;
    let shown: Vec<_> = latest["stateMachineVersions"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|version| version["stateMachineVersionArn"].clone())
        .collect();
    assert_eq!(shown, [json!(format!("{arn}:120")), json!(format!("{arn}:119"))]);
}

#[tokio::test]
async fn tokens_are_for_their_list_and_for_a_day() {
    let house = House::new();
    let invalid = "InvalidToken: Invalid Token: 'Invalid token'";
    let arn = house.machine("m").await;
    house.machine("n").await;
    let page = house.call("ListStateMachines", json!({ "maxResults": 1 })).await;
    let body = json!({ "nextToken": page["nextToken"] });
    house.call("ListStateMachines", body.clone()).await;
    house.refused("ListActivities", body.clone(), invalid).await;
    house
        .refused(
            "ListStateMachineVersions",
            json!({ "stateMachineArn": arn, "nextToken": page["nextToken"] }),
            invalid,
        )
        .await;
    for token in ["x", "not base64!", "MTIzNA", "////"] {
        house.refused("ListStateMachines", json!({ "nextToken": token }), invalid).await;
    }
    house.pass_seconds(24 * 60 * 60 - 1);
    house.call("ListStateMachines", body.clone()).await;
    house.pass_seconds(1);
    house.refused("ListStateMachines", body, invalid).await;
}
