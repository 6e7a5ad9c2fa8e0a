//! Definitions as requests bring them: checked by every rule, and refused in the service's words.

use everstep_asl::{
    Diagnostic, Dialect, Machine, Options, Parsed, ServiceForm, Source, WorkflowType, parse,
};
use serde_json::{Value, json};

/// A definition and all that was found in it.
#[must_use]
pub(crate) fn checked(definition: &str, express: bool, dialect: Dialect) -> Parsed {
    let workflow_type = if express { WorkflowType::Express } else { WorkflowType::Standard };
    // The name says that it is JSON: the service takes nothing else.
    parse(
        &Source::new("definition.json", definition),
        &Options { workflow_type, dialect, lone_state: false },
    )
}

/// Its errors in the words of the service, in its order.
pub(crate) fn forms(parsed: &Parsed) -> impl Iterator<Item = &ServiceForm> {
    let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
    errors.filter_map(|diagnostic| diagnostic.service.as_ref())
}

/// A definition that can become a state machine, or the message of `InvalidDefinition`.
pub(crate) fn accepted(
    definition: &str,
    express: bool,
    dialect: Dialect,
) -> Result<Machine, String> {
    let parsed = checked(definition, express, dialect);
    let words: Vec<String> = forms(&parsed).map(in_words).collect();
    let refused = || format!("Invalid State Machine Definition: '{}'", words.join(", "));
    parsed.into_machine().ok_or_else(refused)
}

/// `SCHEMA_VALIDATION_FAILED: The field 'RoleArn' is required but was missing at /States/A/Credentials`
fn in_words(form: &ServiceForm) -> String {
    let location = form.location.as_deref().unwrap_or("null");
    format!("{}: {} at {location}", form.code, form.message)
}

/// The answer of `ValidateStateMachineDefinition`: errors, and with `warnings` our advice as well; at most
/// `most` of them.
#[must_use]
pub(crate) fn validated(
    definition: &str,
    express: bool,
    dialect: Dialect,
    warnings: bool,
    most: usize,
) -> Value {
    let parsed = checked(definition, express, dialect);
    let refused = forms(&parsed).next().is_some();
    let errors = forms(&parsed)
        .map(|form| diagnostic("ERROR", form.code, &form.message, form.location.as_deref()));
    let advice = parsed.diagnostics.iter().filter(|found| warnings && !found.is_error());
    let mut found: Vec<Value> = errors.chain(advice.map(advised)).collect();
    let truncated = found.len() > most;
    found.truncate(most);
    let result = if refused { "FAIL" } else { "OK" };
    json!({ "result": result, "diagnostics": found, "truncated": truncated })
}

/// Advice is ours: its code is the name of the rule, written as the service writes codes.
fn advised(found: &Diagnostic) -> Value {
    let code = found.code.replace('-', "_").to_uppercase();
    diagnostic("WARNING", &code, &found.message, Some(&found.place.service_location()))
}

fn diagnostic(severity: &str, code: &str, message: &str, location: Option<&str>) -> Value {
    let mut value = json!({ "severity": severity, "code": code, "message": message });
    if let Some(location) = location {
        value["location"] = location.into();
    }
    value
}

/// `variableReferences` of a machine; nothing if no state reads a variable.
#[must_use]
pub(crate) fn references(machine: &Machine) -> Option<Value> {
    Some(everstep_asl::references(machine)).filter(|all| !all.is_empty()).map(|all| json!(all))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(definition: &Value, warnings: bool, most: usize, expected: &Value) {
        let (text, dialect) = (definition.to_string(), Dialect::Aws);
        assert_eq!(&validated(&text, false, dialect, warnings, most), expected);
    }

    #[test]
    fn validations() {
        let good = json!({ "StartAt": "A", "States": { "A": { "Type": "Pass", "End": true } } });
        check(&good, true, 100, &json!({ "result": "OK", "diagnostics": [], "truncated": false }));
        let advice = json!({
            "severity": "WARNING",
            "code": "FAIL_WITHOUT_ERROR",
            "message": validated_message(),
            "location": "/States/A",
        });
        let mute = json!({ "StartAt": "A", "States": { "A": { "Type": "Fail" } } });
        check(&mute, false, 100, &json!({ "result": "OK", "diagnostics": [], "truncated": false }));
        let expected = json!({ "result": "OK", "diagnostics": [advice], "truncated": false });
        check(&mute, true, 100, &expected);
        let state = json!({ "Type": "Pass" });
        let bad = json!({ "StartAt": "A", "States": { "A": state, "B": state } });
        let all = validated(&bad.to_string(), false, Dialect::Aws, false, 100);
        assert_eq!((&all["result"], &all["truncated"]), (&json!("FAIL"), &json!(false)));
        let found = all["diagnostics"].as_array().expect("a list");
        assert!(found.len() > 1);
        let first = json!({ "result": "FAIL", "diagnostics": [found[0]], "truncated": true });
        check(&bad, false, 1, &first);
    }

    #[test]
    fn spec_accepts_what_the_specification_does() {
        let long = "s".repeat(100);
        let pass = json!({ "Type": "Pass", "End": true });
        for definition in [
            json!({ "StartAt": "A", "States": { "A": pass, "B": pass } }),
            json!({ "StartAt": "A", "States": { "A": { "Type": "Pass", "Next": "A" } } }),
            json!({ "StartAt": long, "States": { long: pass } }),
        ] {
            let text = definition.to_string();
            assert!(accepted(&text, false, Dialect::Spec).is_ok(), "{text}");
            assert!(accepted(&text, false, Dialect::Aws).is_err(), "{text}");
            let found = validated(&text, false, Dialect::Spec, true, 100);
            assert_eq!(found["result"], "OK");
            assert_eq!(found["diagnostics"][0]["severity"], "WARNING", "{found}");
            assert_eq!(validated(&text, false, Dialect::Aws, true, 100)["result"], "FAIL");
        }
        // In `spec` a task has 60 seconds, so a heartbeat should be shorter.
        let resource = "arn:aws:states:us-east-1:123456789012:activity:a";
        let task =
            json!({ "Type": "Task", "Resource": resource, "HeartbeatSeconds": 60, "End": true });
        let text = json!({ "StartAt": "A", "States": { "A": task } }).to_string();
        let warned = |dialect| {
            let found = validated(&text, false, dialect, true, 100);
            assert_eq!(found["result"], "OK");
            found.to_string().contains("can never be missed")
        };
        assert!(warned(Dialect::Spec) && !warned(Dialect::Aws));
    }

    fn validated_message() -> String {
        let mute = r#"{ "StartAt": "A", "States": { "A": { "Type": "Fail" } } }"#;
        checked(mute, false, Dialect::Aws).diagnostics[0].message.clone()
    }

    #[test]
    fn references_are_there_or_nothing_is() {
        let check = |definition: &str, expected: Option<Value>| {
            let machine = accepted(definition, false, Dialect::Aws).expect("a machine");
            assert_eq!(references(&machine), expected);
        };
        let assign = r#"{"StartAt":"A","States":{"A":{"Type":"Pass","Assign":{"x":1},"Next":"B"},"B":{"Type":"Pass","Parameters":{"y.$":"$x"},"End":true}}}"#;
        check(assign, Some(json!({ "B": ["x"] })));
        check(r#"{"StartAt":"A","States":{"A":{"Type":"Pass","End":true}}}"#, None);
    }
}
