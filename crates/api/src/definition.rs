//! Definitions as requests bring them: checked by every rule, and refused in the service's words.

use everstep_asl::{Machine, Options, Parsed, ServiceForm, Source, WorkflowType, parse};

/// A definition and all that was found in it.
#[must_use]
pub fn checked(definition: &str, express: bool) -> Parsed {
    let workflow_type = if express { WorkflowType::Express } else { WorkflowType::Standard };
    parse(&Source::new("definition", definition), &Options { workflow_type, lone_state: false })
}

/// What the service would say about it, in its order.
pub fn forms(parsed: &Parsed) -> impl Iterator<Item = &ServiceForm> {
    parsed.diagnostics.iter().filter_map(|diagnostic| diagnostic.service.as_ref())
}

/// A definition that can become a state machine, or the message of `InvalidDefinition`.
pub fn accepted(definition: &str, express: bool) -> Result<Machine, String> {
    let parsed = checked(definition, express);
    let words: Vec<String> = forms(&parsed).map(in_words).collect();
    match parsed.into_machine() {
        Some(machine) if words.is_empty() => Ok(machine),
        _ => Err(format!("Invalid State Machine Definition: '{}'", words.join(", "))),
    }
}

/// `SCHEMA_VALIDATION_FAILED: The field 'RoleArn' is required but was missing at /States/A/Credentials`
fn in_words(form: &ServiceForm) -> String {
    let location = form.location.as_deref().unwrap_or("null");
    format!("{}: {} at {location}", form.code.name(), form.message)
}
