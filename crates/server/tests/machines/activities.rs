//! Activities: named once, found again, gone when deleted.

use serde_json::{Value, json};

use crate::fixture::{Fixture, NOW, PLACE, machine_arn};

fn of(arn: &str) -> Value {
    json!({ "activityArn": arn })
}

#[tokio::test]
async fn an_activity_is_created_described_and_deleted() {
    let fixture = Fixture::new();
    let arn = format!("{PLACE}:activity:a");
    let created = json!({ "activityArn": arn, "creationDate": NOW });
    fixture.check("CreateActivity", json!({ "name": "a" }), created.clone()).await;
    fixture.pass_seconds(1);
    let tagged = json!({ "name": "a", "tags": [{ "key": "k", "value": "v" }] });
    fixture.check("CreateActivity", tagged, created).await;
    fixture
        .check("ListTagsForResource", json!({ "resourceArn": arn }), json!({ "tags": [] }))
        .await;
    let key = json!({ "type": "CUSTOMER_MANAGED_KMS_KEY", "kmsKeyId": "k" });
    let other = json!({ "name": "a", "encryptionConfiguration": key });
    let exists = format!("ActivityAlreadyExists: Activity Already Exists: '{arn}'");
    fixture.refused("CreateActivity", other, &exists).await;
    let described = json!({
        "activityArn": arn,
        "name": "a",
        "creationDate": NOW,
        "encryptionConfiguration": { "type": "AWS_OWNED_KEY" },
    });
    fixture.check("DescribeActivity", of(&arn), described).await;
    fixture.check("DeleteActivity", of(&arn), json!({})).await;
    fixture.check("DeleteActivity", of(&arn), json!({})).await;
    let missing = format!("ActivityDoesNotExist: Activity Does Not Exist: '{arn}'");
    fixture.refused("DescribeActivity", of(&arn), &missing).await;
}

#[tokio::test]
async fn what_is_no_activity_is_refused() {
    let fixture = Fixture::new();
    let expected = "InvalidName: Invalid Name: 'a/b'";
    fixture.refused("CreateActivity", json!({ "name": "a/b" }), expected).await;
    let machine = machine_arn("m");
    let expected =
        format!("InvalidArn: Invalid Arn: 'Resource type not valid in this context: {machine}'");
    for operation in ["DescribeActivity", "DeleteActivity"] {
        fixture.refused(operation, of(&machine), &expected).await;
    }
    let encryption = json!({ "type": "CUSTOMER_MANAGED_KMS_KEY" });
    let body = json!({ "name": "a", "encryptionConfiguration": encryption });
    let expected = "InvalidEncryptionConfiguration: Invalid Encryption Configuration: kmsKeyId is \
                    required for CUSTOMER_MANAGED_KMS_KEY.";
    fixture.refused("CreateActivity", body, expected).await;
    let tags: Vec<Value> = (0..51).map(|n| json!({ "key": n.to_string(), "value": "" })).collect();
    let expected = "TooManyTags: A resource has at most 50 tags";
    fixture.refused("CreateActivity", json!({ "name": "a", "tags": tags }), expected).await;
}
