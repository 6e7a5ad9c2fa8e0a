//! `compensate: NAME`: after a function has succeeded, every path from a caught error must call the function that
//! undoes its work.
//!
//! A path that returns to normal operation is a recovery and needs no compensation. A task whose function is only
//! known at run time may be the compensation, and counts as one.

use std::collections::{HashMap, VecDeque};

use everstep_asl::model::{Catcher, Kind, State, StateId, Transition};
use everstep_asl::{Machine, Place};
use everstep_config::model::Function;
use everstep_config::{Config, Rule};
use everstep_source::Diagnostic;

use super::Definition;
use super::called::Called;

pub(super) fn check(config: &Config, definition: Definition<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for function in &config.functions {
        if let Some(compensation) = &function.compensate {
            let pair = Pair { definition, function, compensation };
            definition.machine.each_scope(&Place::root(), &mut |scope, place| {
                found.extend(pair.check(scope, place));
            });
        }
    }
    found
}

/// A function and what undoes it.
struct Pair<'p> {
    definition: Definition<'p>,
    function: &'p Function,
    compensation: &'p str,
}

impl Pair<'_> {
    fn check(&self, scope: &Machine, place: &Place) -> Vec<Diagnostic> {
        let states = place.field("States");
        let at = |id: StateId| states.field(&scope.state(id).name);
        let doing: Vec<bool> = ids(scope).map(|id| self.does(scope.state(id), &at(id))).collect();
        if !doing.contains(&true) {
            return Vec::new();
        }
        let begun = ids(scope).filter(|id| doing[index(*id)]);
        let after = Walk::from(scope, begun.flat_map(|id| on(scope.state(id))), on);
        let good = leading_to_success(scope);
        let is_way_out = |id: StateId| {
            let recovers = (after.has(id) || doing[index(id)]) && good[index(id)];
            !recovers && !self.definition.may_call(scope.state(id), &at(id), self.compensation)
        };
        let way_out: Vec<bool> = ids(scope).map(is_way_out).collect();
        // Many catchers lead to few states.
        let mut ways: HashMap<StateId, Option<Vec<StateId>>> = HashMap::new();
        let mut found = Vec::new();
        for (state, catchers) in catching(scope, &doing, &after) {
            for (number, catcher) in catchers.iter().enumerate() {
                let next = catcher.next.id;
                let way = ways.entry(next).or_insert_with(|| shortest(scope, next, &way_out));
                let Some(path) = way else { continue };
                let origin = origin(scope, &doing, &after, state);
                let place = at(state).field("Catch").index(number);
                found.push(self.diagnostic(scope, (origin, state), catcher, path, place));
            }
        }
        found
    }

    /// Whether the function is called here, or inside.
    fn does(&self, state: &State, place: &Place) -> bool {
        match self.definition.called(state, place) {
            Called::Function(name, _) => name == self.function.name,
            Called::Unknown => false,
            Called::Nothing => {
                self.definition.any_inside(state, place, &|state, place| self.does(state, place))
            }
        }
    }

    fn diagnostic(
        &self,
        scope: &Machine,
        (origin, state): (StateId, StateId),
        catcher: &Catcher,
        path: &[StateId],
        place: Place,
    ) -> Diagnostic {
        let name = |id: StateId| &*scope.state(id).name;
        let Self { function, compensation, .. } = self;
        let names: Vec<&str> =
            std::iter::once(state).chain(path.iter().copied()).map(name).collect();
        let done = if origin == state {
            format!("inside `{}`", name(origin))
        } else {
            format!("in `{}`", name(origin))
        };
        let message = format!(
            "`{}`, called {done}, is not compensated when this catcher of `{}` matches {}: {}",
            function.name,
            name(state),
            catcher.error_equals.join(", "),
            names.join(" → "),
        );
        let hint = format!(
            "call `{compensation}` on this path: {} sets it as the compensation of `{}`",
            function.line, function.name
        );
        Diagnostic::new(Rule::MissingCompensation, catcher.span, place, message).hint(hint)
    }
}

/// States that can fail when the work is done, with their catchers. A task that fails by itself has not done
/// it; of what holds such a task, something else may have failed.
fn catching<'s>(
    scope: &'s Machine,
    doing: &[bool],
    after: &Walk,
) -> impl Iterator<Item = (StateId, &'s [Catcher])> {
    let done =
        |id: &StateId| after.has(*id) || (doing[index(*id)] && scope.state(*id).has_scopes());
    ids(scope).filter(done).map(|id| (id, scope.state(id).catch()))
}

fn ids(scope: &Machine) -> impl Iterator<Item = StateId> {
    (0..scope.states.len()).filter_map(|index| u32::try_from(index).ok()).map(StateId)
}

fn index(id: StateId) -> usize {
    id.0 as usize
}

/// What follows if nothing fails.
fn on(state: &State) -> Vec<StateId> {
    let all = all(state);
    let caught = state.catch().len();
    all[..all.len() - caught].to_vec()
}

/// What can follow, errors included, those last.
fn all(state: &State) -> Vec<StateId> {
    state.successors().map(|target| target.id).collect()
}

/// States that were reached, the nearest first, and from which other each was.
struct Walk {
    order: Vec<StateId>,
    from: HashMap<StateId, Option<StateId>>,
}

impl Walk {
    fn from(
        scope: &Machine,
        starts: impl IntoIterator<Item = StateId>,
        follow: impl Fn(&State) -> Vec<StateId>,
    ) -> Self {
        let mut walk = Self { order: Vec::new(), from: HashMap::new() };
        let mut open: VecDeque<(StateId, Option<StateId>)> =
            starts.into_iter().map(|start| (start, None)).collect();
        while let Some((id, from)) = open.pop_front() {
            if !walk.has(id) {
                walk.from.insert(id, from);
                walk.order.push(id);
                open.extend(follow(scope.state(id)).into_iter().map(|next| (next, Some(id))));
            }
        }
        walk
    }

    fn has(&self, id: StateId) -> bool {
        self.from.contains_key(&id)
    }

    /// From where it began to there.
    fn path(&self, to: StateId) -> Vec<StateId> {
        let mut path: Vec<StateId> =
            std::iter::successors(Some(to), |id| self.from.get(id).copied().flatten()).collect();
        path.reverse();
        path
    }
}

/// Which of those that do the work comes before a state.
fn origin(scope: &Machine, doing: &[bool], after: &Walk, state: StateId) -> StateId {
    if !after.has(state) {
        return state;
    }
    let first = after.path(state)[0];
    let mut before = ids(scope).filter(|id| doing[index(*id)]);
    before.find(|id| on(scope.state(*id)).contains(&first)).unwrap_or(state)
}

/// States from which the machine can succeed without an error.
fn leading_to_success(scope: &Machine) -> Vec<bool> {
    let mut before: Vec<Vec<StateId>> = vec![Vec::new(); scope.states.len()];
    for id in ids(scope) {
        for next in on(scope.state(id)) {
            before[index(next)].push(id);
        }
    }
    let mut good = vec![false; scope.states.len()];
    let mut open: Vec<StateId> = ids(scope).filter(|id| succeeds(scope.state(*id))).collect();
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut good[index(id)], true) {
            open.extend(&before[index(id)]);
        }
    }
    good
}

fn succeeds(state: &State) -> bool {
    matches!(state.kind, Kind::Succeed) || matches!(state.transition(), Some(Transition::End))
}

fn ends(state: &State) -> bool {
    succeeds(state) || matches!(state.kind, Kind::Fail(_))
}

/// The shortest way to an end, over states where there is a way out only.
fn shortest(scope: &Machine, start: StateId, way_out: &[bool]) -> Option<Vec<StateId>> {
    let open = |id: &StateId| way_out[index(*id)];
    let follow = |state: &State| all(state).into_iter().filter(open).collect();
    let walk = Walk::from(scope, Some(start).filter(open), follow);
    let end = walk.order.iter().find(|id| ends(scope.state(**id)))?;
    Some(walk.path(*end))
}

#[cfg(test)]
mod tests {
    use super::super::said;

    const FUNCTIONS: &str = "{ reserve: { runtime: command, command: [f], compensate: release }, \
                             release: { runtime: command, command: [f] }, charge: { runtime: command, command: [f] } }";

    fn task(name: &str, function: &str, next: &str, catch: &str) -> String {
        let next = if next.is_empty() {
            "\"End\": true".to_owned()
        } else {
            format!(r#""Next": "{next}""#)
        };
        let catch = match catch {
            "" => String::new(),
            next => format!(r#", "Catch": [{{"ErrorEquals": ["E"], "Next": "{next}"}}]"#),
        };
        format!(
            r#""{name}": {{"Type": "Task", "TimeoutSeconds": 9, {next},
            "Resource": "arn:aws:lambda:us-east-1:123456789012:function:{function}"{catch}}}"#
        )
    }

    fn check(states: &[String], expected: &[&str]) {
        let said = said(FUNCTIONS, &states.join(","));
        let said: Vec<&str> =
            said.iter().map(|said| said.split_once("}: ").expect("a catcher").1).collect();
        assert_eq!(said, expected, "{states:?}");
    }

    const FAILED: &str = r#""Failed": {"Type": "Fail", "Error": "F"}"#;

    fn not_undone(place: &str, state: &str, path: &str) -> String {
        format!(
            "`reserve`, called {place}, is not compensated when this catcher of `{state}` matches E: {path}"
        )
    }

    #[test]
    fn ways_that_undo_and_ways_that_do_not() {
        let reserve = task("R", "reserve", "C", "Failed");
        let charge = |catch| task("C", "charge", "", catch);
        let undo = task("U", "release", "Failed", "");
        check(&[reserve.clone(), charge("U"), undo.clone(), FAILED.into()], &[]);
        check(
            &[reserve.clone(), charge("Failed"), FAILED.into()],
            &[&not_undone("in `R`", "C", "C → Failed")],
        );
        // Only on one of two ways.
        let choice = r#""Which": {"Type": "Choice", "Default": "U", "Choices": [
            {"Variable": "$.a", "IsPresent": true, "Next": "Failed"}]}"#;
        check(
            &[reserve, charge("Which"), choice.into(), undo, FAILED.into()],
            &[&not_undone("in `R`", "C", "C → Which → Failed")],
        );
    }

    #[test]
    fn recoveries_need_no_undoing() {
        let reserve = task("R", "reserve", "C", "");
        let again = r#""W": {"Type": "Wait", "Seconds": 1, "Next": "C"}"#;
        check(&[reserve.clone(), task("C", "charge", "", "W"), again.into()], &[]);
        // Where things go well, a state that only fails is none where they do again.
        let choice = r#""Ok": {"Type": "Choice", "Default": "Done", "Choices": [
            {"Variable": "$.a", "IsPresent": true, "Next": "Failed"}]}, "Done": {"Type": "Succeed"}"#;
        check(
            &[reserve, task("C", "charge", "Ok", "Failed"), choice.into(), FAILED.into()],
            &[&not_undone("in `R`", "C", "C → Failed")],
        );
    }

    #[test]
    fn branches() {
        let inside = |name: &str, function: &str| {
            let states = task(name, function, "", "");
            format!(r#"{{"StartAt": "{name}", "States": {{{states}}}}}"#)
        };
        let parallel = |catch: &str| {
            format!(
                r#""P": {{"Type": "Parallel", "Branches": [{}], "End": true,
                "Catch": [{{"ErrorEquals": ["E"], "Next": "{catch}"}}]}}"#,
                inside("R", "reserve")
            )
        };
        check(
            &[parallel("Failed"), FAILED.into()],
            &[&not_undone("inside `P`", "P", "P → Failed")],
        );
        let undo = format!(
            r#""U": {{"Type": "Parallel", "End": true, "Branches": [{}]}}"#,
            inside("V", "release")
        );
        check(&[parallel("U"), undo], &[]);
    }

    #[test]
    fn what_is_not_known_may_undo() {
        let dynamic = r#""U": {"Type": "Task", "TimeoutSeconds": 9, "End": true,
            "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName.$": "$.f"}}"#;
        check(&[task("R", "reserve", "C", ""), task("C", "charge", "", "U"), dynamic.into()], &[]);
    }
}
