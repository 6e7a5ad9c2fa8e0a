//! The state under test, out of a text.

use std::sync::Arc;

use everstep_asl::model::{Kind, Machine, State};
use everstep_asl::{Diagnostic, Dialect, Options, Parsed, Place, Source, parse};
use everstep_history::Position;
use serde_json::{Map, Value};

use super::request::{Code, RequestError};

/// What the service calls a state that comes without a machine.
pub(super) const LONE_NAME: &str = "StateName";

/// A state in its scope.
pub(super) struct Found {
    pub(super) machine: Arc<Machine>,
    pub(super) position: Position,
}

impl Found {
    pub(super) fn state(&self) -> &State {
        &self.machine.states[self.position as usize]
    }

    /// The state that is said to have caused an error must be one of those inside.
    pub(super) fn check_cause(&self, name: Option<&str>) -> Result<(), RequestError> {
        let Some(name) = name else { return Ok(()) };
        if !matches!(self.state().kind, Kind::Map(_) | Kind::Parallel(_)) {
            return Ok(());
        }
        let mut found = false;
        for (inner, _) in self.state().scopes(&Place::root()) {
            inner.each_state(&mut |state, _, _| found |= &*state.name == name);
        }
        if found {
            return Ok(());
        }
        Err(RequestError::invalid(format!(
            "errorCausedByState must name a state inside the tested state, and '{name}' is none"
        )))
    }
}

pub(super) fn find(
    text: &str,
    name: Option<&str>,
    dialect: Dialect,
) -> Result<Found, RequestError> {
    let machine = Arc::new(match name {
        Some(_) => machine(parse_text(text.to_owned(), dialect, false))?,
        None => lone(text, dialect)?,
    });
    within(&machine, name.unwrap_or(LONE_NAME))
        .ok_or_else(|| RequestError::invalid("State not found in definition"))
}

/// A machine around a single state.
fn lone(text: &str, dialect: Dialect) -> Result<Machine, RequestError> {
    // Only an object can be put into another one; what is none is refused for itself.
    if serde_json::from_str::<Map<String, Value>>(text).is_err() {
        return machine(parse_text(text.to_owned(), dialect, false));
    }
    let around = format!("{{\"StartAt\":\"{LONE_NAME}\",\"States\":{{\"{LONE_NAME}\":{text}}}}}");
    machine(parse_text(around, dialect, true))
}

fn parse_text(text: String, dialect: Dialect, lone_state: bool) -> Parsed {
    let options = Options { lone_state, dialect, ..Options::default() };
    parse(&Source::new("definition.json", text), &options)
}

fn machine(parsed: Parsed) -> Result<Machine, RequestError> {
    let errors: Vec<String> =
        parsed.diagnostics.iter().filter(|found| found.is_error()).map(words).collect();
    parsed.into_machine().ok_or_else(|| {
        let message = format!("Invalid State Machine Definition: '{}'", errors.join(", "));
        RequestError::new(Code::InvalidDefinition, message)
    })
}

/// A problem in the service's words, or in ours where the service has none.
fn words(found: &Diagnostic) -> String {
    match &found.service {
        Some(form) => format!(
            "{}: {} at {}",
            form.code,
            form.message,
            form.location.as_deref().unwrap_or("null")
        ),
        None => format!(
            "SCHEMA_VALIDATION_FAILED: {} at {}",
            found.message,
            found.place.service_location()
        ),
    }
}

/// States inside Map and Parallel states are found too.
fn within(machine: &Arc<Machine>, name: &str) -> Option<Found> {
    if let Some(position) = machine.states.iter().position(|state| &*state.name == name) {
        let position = Position::try_from(position).ok()?;
        return Some(Found { machine: machine.clone(), position });
    }
    machine.states.iter().find_map(|state| match &state.kind {
        Kind::Parallel(parallel) => parallel.branches.iter().find_map(|inner| within(inner, name)),
        Kind::Map(map) => within(&map.processor, name),
        _ => None,
    })
}
