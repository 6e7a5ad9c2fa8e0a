//! The answer of the service's ValidateStateMachineDefinition.
//!
//! What the service lets pass is left out, and what it refuses is an error, whatever we call it.

use serde_json::{Value, json};

use super::Checked;

pub(crate) fn answer(file: &Checked) -> String {
    let diagnostics: Vec<Value> = file
        .diagnostics
        .iter()
        .filter_map(|found| found.service.as_ref())
        .map(|form| {
            let mut value =
                json!({"severity": "ERROR", "code": form.code, "message": form.message});
            if let Some(location) = &form.location {
                value["location"] = json!(location);
            }
            value
        })
        .collect();
    let result = if diagnostics.is_empty() { "OK" } else { "FAIL" };
    super::json::pretty(&json!({
        "result": result,
        "diagnostics": diagnostics,
        "truncated": file.omitted > 0,
    }))
}
