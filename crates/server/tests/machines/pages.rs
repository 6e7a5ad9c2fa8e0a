//! Lists of more than fits on a page.

use serde_json::{Value, json};

use crate::fixture::{Fixture, create};

/// All that a list has, by pages of a size.
async fn pages(
    fixture: &Fixture,
    operation: &str,
    member: &str,
    mut body: Value,
) -> Vec<Vec<Value>> {
    let mut found = Vec::new();
    loop {
        let page = fixture.call(operation, body.clone()).await;
        found.push(page[member].as_array().expect("a list").clone());
        match page.get("nextToken") {
            Some(token) => body["nextToken"] = token.clone(),
            None => return found,
        }
    }
}

#[tokio::test]
async fn lists_are_paged() {
    let fixture = Fixture::new();
    for number in 0..120 {
        fixture.call("CreateStateMachine", create(&format!("m-{number:03}"))).await;
        fixture.call("CreateActivity", json!({ "name": format!("a-{number:03}") })).await;
    }
    let arn = fixture.machine("versions").await;
    for number in 0..120 {
        fixture.publish_changed(&arn, &number.to_string()).await;
    }
    let versions = json!({ "stateMachineArn": arn });
    for (operation, member, body, total) in [
        ("ListStateMachines", "stateMachines", json!({}), 121),
        ("ListActivities", "activities", json!({}), 120),
        ("ListStateMachineVersions", "stateMachineVersions", versions, 120),
    ] {
        let all = pages(&fixture, operation, member, body.clone()).await;
        assert_eq!(all.iter().map(Vec::len).collect::<Vec<_>>(), [100, total - 100]);
        let all = all.concat();
        for size in [0, 1, 7, 60, 120, 121, 1000] {
            let mut body = body.clone();
            body["maxResults"] = size.into();
            let found = pages(&fixture, operation, member, body).await;
            let size = if size == 0 { 100 } else { size };
            assert!(found.iter().all(|page| page.len() <= size));
            assert_eq!(found.len(), total.div_ceil(size), "{operation} by {size}");
            assert_eq!(found.concat(), all, "{operation} by {size}");
        }
    }
    let body = json!({ "stateMachineArn": arn, "maxResults": 2 });
    let latest = fixture.call("ListStateMachineVersions", body).await;
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
    let fixture = Fixture::new();
    let invalid = "InvalidToken: Invalid Token: 'Invalid token'";
    let arn = fixture.machine("m").await;
    fixture.machine("n").await;
    let page = fixture.call("ListStateMachines", json!({ "maxResults": 1 })).await;
    let body = json!({ "nextToken": page["nextToken"] });
    fixture.call("ListStateMachines", body.clone()).await;
    fixture.refused("ListActivities", body.clone(), invalid).await;
    fixture
        .refused(
            "ListStateMachineVersions",
            json!({ "stateMachineArn": arn, "nextToken": page["nextToken"] }),
            invalid,
        )
        .await;
    for token in ["x", "not base64!", "MTIzNA", "////"] {
        fixture.refused("ListStateMachines", json!({ "nextToken": token }), invalid).await;
    }
    fixture.pass_seconds(24 * 60 * 60 - 1);
    fixture.call("ListStateMachines", body.clone()).await;
    fixture.pass_seconds(1);
    fixture.refused("ListStateMachines", body, invalid).await;
}
