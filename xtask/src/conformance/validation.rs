//! Definitions that were refused, and what was said about them.

use everstep_asl::{Diagnostic, Options, Parsed, Source, WorkflowType, parse, references};
use serde_json::{Value, json};

use super::Outcome;

pub(super) fn check(case: &Value) -> Outcome {
    let text = case["definitionText"].as_str().map(str::to_owned);
    let text = text.unwrap_or_else(|| case["definition"].to_string());
    let options = Options {
        workflow_type: match case["type"].as_str() {
            Some("EXPRESS") => WorkflowType::Express,
            _ => WorkflowType::Standard,
        },
        ..Options::default()
    };
    let parsed = parse(&Source::new("definition.json", text), &options);
    match case["api"].as_str() {
        Some("ValidateStateMachineDefinition") => compare(&case["expected"], &answer(&parsed)),
        Some("DescribeStateMachine") => describe(case, &parsed),
        _ => create(case, &parsed),
    }
}

/// The answer of `ValidateStateMachineDefinition`.
fn answer(parsed: &Parsed) -> Value {
    let diagnostics: Vec<Value> = forms(parsed).collect();
    let result = if diagnostics.is_empty() { "OK" } else { "FAIL" };
    json!({ "result": result, "diagnostics": diagnostics, "truncated": false })
}

fn forms(parsed: &Parsed) -> impl Iterator<Item = Value> {
    parsed.diagnostics.iter().filter_map(|diagnostic: &Diagnostic| {
        let form = diagnostic.service.as_ref()?;
        let mut value =
            json!({ "code": form.code.name(), "message": form.message, "severity": "ERROR" });
        if let Some(location) = &form.location {
            value["location"] = json!(location);
        }
        Some(value)
    })
}

fn describe(case: &Value, parsed: &Parsed) -> Outcome {
    match parsed.machine() {
        Some(machine) => {
            compare(&case["expected"]["variableReferences"], &json!(references(machine)))
        }
        None => Outcome::Failed(format!("refused: {}", answer(parsed))),
    }
}

/// The message of `InvalidDefinition`; errors about the rest of the request leave the definition good.
fn create(case: &Value, parsed: &Parsed) -> Outcome {
    let error = &case["expected_error"];
    let code = error["Error"]["Code"].as_str().or(error["exception_typename"].as_str());
    if code != Some("InvalidDefinition") {
        return match parsed.machine() {
            Some(_) => Outcome::Passed,
            None => Outcome::Failed(format!("refused: {}", answer(parsed))),
        };
    }
    let message = error["Error"]["Message"].as_str().or(error["exception_value"].as_str());
    let prefix = "Invalid State Machine Definition: ";
    let expected =
        message.and_then(|message| Some(&message[message.find(prefix)?..])).unwrap_or_default();
    let parts: Vec<String> = forms(parsed)
        .map(|form| {
            let text = |name: &str| form[name].as_str().unwrap_or("null").to_owned();
            format!("{}: {} at {}", text("code"), text("message"), text("location"))
        })
        .collect();
    compare(&json!(expected), &json!(format!("{prefix}'{}'", parts.join(", "))))
}

fn compare(expected: &Value, found: &Value) -> Outcome {
    if expected == found {
        return Outcome::Passed;
    }
    Outcome::Failed(format!("expected {expected}\nfound    {found}"))
}
