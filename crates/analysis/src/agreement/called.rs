//! Which function a state calls.

use everstep_asl::Place;
use everstep_asl::model::{Kind, QueryLanguage, Resource, State, function_name};

use super::Definition;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Called {
    /// The function of this name, which stands there.
    Function(String, Place),
    /// One whose name is only known when it runs.
    Unknown,
    Nothing,
}

impl Definition<'_> {
    /// `place` is the state's own.
    pub(super) fn called(&self, state: &State, place: &Place) -> Called {
        let Kind::Task(task) = &state.kind else { return Called::Nothing };
        match &*task.resource {
            Resource::Lambda { arn } => named(arn, place.field("Resource")),
            Resource::Placeholder(_) => Called::Unknown,
            resource if resource.is_lambda() => {
                let arguments = match state.query_language {
                    QueryLanguage::JsonPath => "Parameters",
                    QueryLanguage::Jsonata => "Arguments",
                };
                let place = place.field(arguments).field("FunctionName");
                let given = self.root.at(&place.pointer).and_then(|found| found.node.as_str());
                given.map_or(Called::Unknown, |text| named(text, place))
            }
            _ => Called::Nothing,
        }
    }

    /// Whether a state, or one inside it, may call the function; what is not known may.
    pub(super) fn may_call(&self, state: &State, place: &Place, function: &str) -> bool {
        match self.called(state, place) {
            Called::Function(name, _) => name == function,
            Called::Unknown => true,
            Called::Nothing => {
                self.any_inside(state, place, &|state, place| self.may_call(state, place, function))
            }
        }
    }

    /// Whether one of the states inside a state is meant.
    pub(super) fn any_inside(
        &self,
        state: &State,
        place: &Place,
        is_meant: &dyn Fn(&State, &Place) -> bool,
    ) -> bool {
        state.scopes(place).any(|(machine, at)| {
            let states = at.field("States");
            machine.states.iter().any(|state| is_meant(state, &states.field(&state.name)))
        })
    }
}

/// What is filled in or evaluated later is not a name.
fn named(text: &str, place: Place) -> Called {
    match function_name(text) {
        Some(name) if !text.contains("{%") && !text.contains("${") => {
            Called::Function(name.to_owned(), place)
        }
        _ => Called::Unknown,
    }
}
