//! Tags of machines and activities.

use serde_json::{Value, json};

use crate::fixture::{Fixture, PLACE, create, with};

fn tags(of: &[(&str, &str)]) -> Value {
    of.iter().map(|(key, value)| json!({ "key": key, "value": value })).collect()
}

#[tokio::test]
async fn tags_are_added_replaced_and_removed() {
    let fixture = Fixture::new();
    let given = json!({ "tags": tags(&[("a", "1"), ("b", "2")]) });
    let created = fixture.call("CreateStateMachine", with(create("m"), given)).await;
    let activity = fixture.call("CreateActivity", json!({ "name": "a" })).await;
    let both = tags(&[("a", "1"), ("b", "2")]);
    let body = json!({ "resourceArn": activity["activityArn"], "tags": both });
    fixture.check("TagResource", body, json!({})).await;
    for arn in [&created["stateMachineArn"], &activity["activityArn"]] {
        let resource = json!({ "resourceArn": arn });
        let listed = json!({ "tags": tags(&[("a", "1"), ("b", "2")]) });
        fixture.check("ListTagsForResource", resource.clone(), listed).await;
        let more = with(resource.clone(), json!({ "tags": tags(&[("b", "3"), ("c", "")]) }));
        fixture.check("TagResource", more, json!({})).await;
        let less = with(resource.clone(), json!({ "tagKeys": ["a", "none"] }));
        fixture.check("UntagResource", less, json!({})).await;
        let listed = json!({ "tags": tags(&[("b", "3"), ("c", "")]) });
        fixture.check("ListTagsForResource", resource, listed).await;
    }
}

#[tokio::test]
async fn a_resource_has_so_many_tags() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let many = |range: std::ops::Range<usize>| -> Value {
        range.map(|n| json!({ "key": n.to_string(), "value": "v" })).collect()
    };
    let body = |tags: Value| json!({ "resourceArn": arn, "tags": tags });
    fixture.check("TagResource", body(many(0..50)), json!({})).await;
    fixture.check("TagResource", body(many(10..20)), json!({})).await;
    let expected = "TooManyTags: A resource has at most 50 tags";
    fixture.refused("TagResource", body(many(50..51)), expected).await;
    let at_once = with(create("n"), json!({ "tags": many(0..51) }));
    fixture.refused("CreateStateMachine", at_once, expected).await;
}

#[tokio::test]
async fn only_machines_and_activities_have_tags() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let version = fixture.publish_changed(&arn, "a").await;
    let execution = format!("{PLACE}:execution:m:e");
    for other in [version, execution, format!("{PLACE}:activity:none"), format!("{arn}none")] {
        let expected = format!("ResourceNotFound: Resource not found: '{other}'");
        let body = json!({ "resourceArn": other, "tags": [], "tagKeys": [] });
        for operation in ["TagResource", "UntagResource", "ListTagsForResource"] {
            fixture.refused(operation, body.clone(), &expected).await;
        }
    }
    let body = json!({ "resourceArn": "m", "tags": [], "tagKeys": [] });
    for operation in ["TagResource", "UntagResource", "ListTagsForResource"] {
        let expected = "InvalidArn: Invalid Arn: 'Invalid ARN prefix: m'";
        fixture.refused(operation, body.clone(), expected).await;
    }
    let reserved = json!({ "resourceArn": arn, "tags": tags(&[("aws:x", "v")]) });
    let expected = "ValidationException: Tag keys must not begin with 'aws:': 'aws:x'";
    fixture.refused("TagResource", reserved, expected).await;
}

#[tokio::test]
async fn settings_that_are_tags_are_checked() {
    let fixture = Fixture::new();
    let arn = fixture.machine("m").await;
    let express = with(create("x"), json!({ "type": "EXPRESS" }));
    let express = fixture.call("CreateStateMachine", express).await;
    let activity = fixture.call("CreateActivity", json!({ "name": "a" })).await;
    let own = tags(&[("everstep:dialect", "aws"), ("everstep:onFailure", "https://host/x?y=%20")]);
    let body = json!({ "resourceArn": arn, "tags": own });
    fixture.check("TagResource", body, json!({})).await;
    fixture
        .check("ListTagsForResource", json!({ "resourceArn": arn }), json!({ "tags": own }))
        .await;
    let dialect = "The tag 'everstep:dialect' must be 'spec' or 'aws', not 'other'";
    let on_failure = "The tag 'everstep:onFailure' cannot be set for an EXPRESS state machine: its executions are not stored, \
                      so a failure may be lost in a crash";
    let activities = "The tag 'everstep:dialect' is a setting of state machines, not of activities";
    for (arn, tag, expected) in [
        (&json!(arn), ("everstep:dialect", "other"), dialect),
        (&express["stateMachineArn"], ("everstep:onFailure", "function:f"), on_failure),
        (&activity["activityArn"], ("everstep:dialect", "aws"), activities),
    ] {
        let body = json!({ "resourceArn": arn, "tags": tags(&[tag]) });
        fixture.refused("TagResource", body, &format!("ValidationException: {expected}")).await;
    }
    let body = with(create("n"), json!({ "tags": tags(&[("everstep:dialect", "other")]) }));
    fixture.refused("CreateStateMachine", body, &format!("ValidationException: {dialect}")).await;
    let body = json!({ "name": "n", "tags": tags(&[("everstep:dialect", "aws")]) });
    fixture.refused("CreateActivity", body, &format!("ValidationException: {activities}")).await;
}
