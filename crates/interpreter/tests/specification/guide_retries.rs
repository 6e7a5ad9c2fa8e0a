//! Retries and compensation as "Handle Errors and Retries in Step Functions" describes them.

use serde_json::{Value, json};

use crate::world::*;

fn process_payment() -> Value {
    machine(json!({ "ProcessPayment": task(json!({ "TimeoutSeconds": 30, "Retry": [
        { "ErrorEquals": ["ServiceUnavailableError", "ThrottlingError"], "IntervalSeconds": 2, "MaxAttempts": 5, "BackoffRate": 2.0 },
        { "ErrorEquals": ["States.Timeout"], "IntervalSeconds": 10, "MaxAttempts": 2, "BackoffRate": 1.0 }
    ] })) }))
}

#[test]
fn five_retries_wait_2_4_8_16_and_32_seconds() {
    let names = ["ServiceUnavailableError", "ThrottlingError"].repeat(3);
    let run = world(process_payment()).task("ProcessPayment", errors(&names)).run();
    assert_eq!(run.delays(), [2.0, 4.0, 8.0, 16.0, 32.0]);
    assert_eq!(run.error(), "ThrottlingError");
}

#[test]
fn timeouts_get_a_flat_ten_seconds_and_two_attempts() {
    let run = world(process_payment()).task("ProcessPayment", vec![Outcome::Hangs; 3]).run();
    assert_eq!(run.delays(), [10.0, 10.0]);
    assert_eq!(run.error(), "States.Timeout");
}

fn call_external_api() -> Value {
    machine(json!({ "CallExternalApi": task(json!({ "Retry": [
        { "ErrorEquals": ["RateLimitError"], "IntervalSeconds": 30, "MaxAttempts": 10, "BackoffRate": 1.5 },
        { "ErrorEquals": ["ConnectionError", "TimeoutError"], "IntervalSeconds": 5, "MaxAttempts": 3, "BackoffRate": 2.0 },
        { "ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 2, "BackoffRate": 1.0 }
    ] })) }))
}

#[test]
fn rules_are_evaluated_from_top_to_bottom_and_the_first_match_is_used() {
    for (name, delays) in [
        ("RateLimitError", vec![30.0, 45.0, 67.5]),
        ("ConnectionError", vec![5.0, 10.0, 20.0]),
        ("TimeoutError", vec![5.0, 10.0, 20.0]),
        ("Anything", vec![1.0, 1.0]),
    ] {
        let script = errors(&vec![name; delays.len()]).into_iter().chain([ok(json!(1))]);
        let run = world(call_external_api()).task("CallExternalApi", script).run();
        run.output();
        assert_eq!(run.delays(), delays, "{name}");
    }
}

#[test]
fn rate_limits_are_retried_ten_times_at_a_growing_interval() {
    let run =
        world(call_external_api()).task("CallExternalApi", errors(&["RateLimitError"; 11])).run();
    let expected: Vec<f64> =
        (0..10).map(|n| (30_000.0 * 1.5f64.powi(n)).round() / 1000.0).collect();
    assert_eq!(run.delays(), expected);
}

fn order() -> Value {
    let catch = |patterns: &[&str], next: &str| {
        Value::from_iter(
            patterns
                .iter()
                .map(|p| json!({ "ErrorEquals": [p], "ResultPath": "$.error", "Next": next })),
        )
    };
    let undo = |name: &str| machine(json!({ name: task(json!({})) }));
    machine(json!({
        "ReserveInventory": task(json!({
            "Retry": [{ "ErrorEquals": ["States.TaskFailed"], "IntervalSeconds": 2, "MaxAttempts": 3, "BackoffRate": 2.0 }],
            "Catch": [
                { "ErrorEquals": ["OutOfStockError"], "ResultPath": "$.error", "Next": "NotifyOutOfStock" },
                { "ErrorEquals": ["States.ALL"], "ResultPath": "$.error", "Next": "NotifyOutOfStock" }
            ],
            "Next": "ChargeCustomer"
        })),
        "ChargeCustomer": task(json!({
            "Retry": [{ "ErrorEquals": ["RateLimitError"], "IntervalSeconds": 10, "MaxAttempts": 5, "BackoffRate": 2.0 }],
            "Catch": catch(&["PaymentError", "States.ALL"], "ReleaseInventory"),
            "Next": "FulfillOrder"
        })),
        "FulfillOrder": task(json!({
            "Retry": [{ "ErrorEquals": ["States.ALL"], "IntervalSeconds": 5, "MaxAttempts": 3, "BackoffRate": 2.0 }],
            "Catch": catch(&["States.ALL"], "RefundAndRelease"),
            "Next": "OrderSucceeded"
        })),
        "ReleaseInventory": task(json!({ "Next": "NotifyPaymentFailed" })),
        "RefundAndRelease": parallel(json!([undo("RefundCustomer"), undo("ReleaseReservedInventory")]), json!({ "Next": "NotifyPaymentFailed" })),
        "NotifyOutOfStock": task(json!({ "Next": "OrderFailed" })),
        "NotifyPaymentFailed": task(json!({ "Next": "OrderFailed" })),
        "OrderSucceeded": { "Type": "Succeed" },
        "OrderFailed": { "Type": "Fail", "Error": "OrderProcessingFailed", "Cause": "See execution history for details" }
    }))
}

#[test]
fn a_failed_charge_releases_the_inventory() {
    let run = world(order()).task("ChargeCustomer", [error("PaymentError")]).run();
    let path = [
        "ReserveInventory",
        "ChargeCustomer",
        "ReleaseInventory",
        "NotifyPaymentFailed",
        "OrderFailed",
    ];
    assert_eq!(run.path(), path);
    assert_eq!(run.error(), "OrderProcessingFailed");
    let error = json!({ "Error": "PaymentError", "Cause": "scripted" });
    assert_eq!(run.parameters("ReleaseInventory"), [json!({ "error": error })]);
}

#[test]
fn a_failed_delivery_refunds_and_releases_side_by_side() {
    let run = world(order()).task("FulfillOrder", errors(&["Lost"; 4])).run();
    assert_eq!(run.delays(), [5.0, 10.0, 20.0]);
    assert_eq!(run.started("RefundCustomer"), [35.0]);
    assert_eq!(run.started("ReleaseReservedInventory"), [35.0]);
    assert_eq!(run.error(), "OrderProcessingFailed");
}

#[test]
fn out_of_stock_is_retried_by_task_failed_before_it_is_caught() {
    let run = world(order()).task("ReserveInventory", errors(&["OutOfStockError"; 4])).run();
    assert_eq!(run.delays(), [2.0, 4.0, 8.0]);
    assert_eq!(run.path(), ["ReserveInventory", "NotifyOutOfStock", "OrderFailed"]);
}
