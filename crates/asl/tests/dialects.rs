//! What one dialect finds in a definition and the other does not.

use everstep_asl::{Dialect, Options, Source, parse};
use serde_json::{Value, json};

/// Only `spec` finds this in the state.
#[track_caller]
fn check(state: &Value, expected: &[&str]) {
    let definition = json!({ "StartAt": "A", "States": { "A": state } }).to_string();
    let (spec, aws) = (found(&definition, Dialect::Spec), found(&definition, Dialect::Aws));
    let only: Vec<&String> = spec.iter().filter(|found| !aws.contains(found)).collect();
    assert_eq!(only, expected, "{state:#}");
    assert!(aws.iter().all(|found| spec.contains(found)), "{state:#}");
}

fn found(definition: &str, dialect: Dialect) -> Vec<String> {
    let options = Options { dialect, ..Options::default() };
    let parsed = parse(&Source::new("x.json", definition), &options);
    let found = parsed.diagnostics.iter();
    found.map(|found| format!("{} {}", found.severity.name(), found.code)).collect()
}

/// "If not provided, the default value of TimeoutSeconds is 60"; the service's is years.
#[test]
fn heartbeats_end_before_the_default_timeout() {
    let task = |heartbeat: u64| {
        json!({
            "Type": "Task",
            "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f",
            "HeartbeatSeconds": heartbeat,
            "End": true
        })
    };
    check(&task(59), &[]);
    check(&task(60), &["warning heartbeat-not-shorter"]);
    check(&task(600), &["warning heartbeat-not-shorter"]);
    let mut dynamic = task(600);
    dynamic["TimeoutSecondsPath"] = json!("$.timeout");
    check(&dynamic, &[]);
}

/// "A Payload Template MUST be a JSON object"; the service's schema takes any JSON.
#[test]
fn templates_are_objects() {
    let refused: &[&str] = &["error wrong-type"];
    for any in [json!([1, {"x.$": "$.y"}]), json!("x"), json!(null)] {
        check(&json!({"Type": "Pass", "Parameters": any, "End": true}), refused);
        let processor = json!({"StartAt": "B", "States": {"B": {"Type": "Succeed"}}});
        let map =
            json!({"Type": "Map", "ItemProcessor": processor, "ItemSelector": any, "End": true});
        check(&map, refused);
    }
    let resource = "arn:aws:lambda:us-east-1:123456789012:function:f";
    let selector = json!({"Type": "Task", "Resource": resource, "ResultSelector": [], "End": true});
    check(&selector, &[]);
    // A request is an object in both.
    let resource = "arn:aws:states:::lambda:invoke";
    let invoke = json!({"Type": "Task", "Resource": resource, "Parameters": "x", "End": true});
    check(&invoke, &[]);
    let definition = json!({"StartAt": "A", "States": {"A": invoke}}).to_string();
    assert!(found(&definition, Dialect::Aws).contains(&"error wrong-type".to_owned()));
}
