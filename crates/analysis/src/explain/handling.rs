//! What becomes of an error: it is retried, caught, passed on to the state around, or ends the execution.

use everstep_asl::handling::{self, Matched, Raised};
use everstep_asl::model::{
    Assign, Catcher, Jitter, Kind, Mode, QueryLanguage, ResultPath, Retrier, State,
};
use everstep_asl::{Dialect, error_name};
use serde::Serialize;

use super::scope::Found;

/// Waits that are listed one by one; a retrier may have a hundred million.
const DELAYS_MAX: usize = 100;

/// What one state does about an error.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Step {
    /// The state whose `Retry` and `Catch` are asked.
    pub state: String,
    /// The error as that state sees it.
    pub error: String,
    pub retry: Option<Retried>,
    /// None: the error goes to the enclosing state, or ends the execution.
    pub catch: Option<Caught>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Retried {
    /// Its place in `Retry`.
    pub index: usize,
    /// The name in `ErrorEquals` that matched.
    pub matched: String,
    pub max_attempts: u64,
    /// The first hundred.
    pub delays_seconds: Vec<f64>,
    /// None if it is beyond counting.
    pub total_delay_seconds: Option<f64>,
    pub last_delay_seconds: Option<f64>,
    /// Each wait is drawn at random between nothing and its length.
    pub full_jitter: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Caught {
    /// Its place in `Catch`.
    pub index: usize,
    /// The name in `ErrorEquals` that matched.
    pub matched: String,
    pub next: String,
    pub receives: Receives,
    pub assigns: Vec<String>,
}

/// What the state after a catcher gets as its input.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Receives {
    /// The error in place of the input.
    Error,
    InputWithError {
        path: String,
    },
    Input,
    /// What the catcher's `Output` makes.
    Output,
}

/// Follows an error from the state where it happens outwards.
pub(super) fn follow(found: &Found<'_>, raised: Raised<'_>, dialect: Dialect) -> Vec<Step> {
    let mut raised = raised;
    let mut steps = Vec::new();
    for state in std::iter::once(&found.state).chain(&found.around) {
        if !steps.is_empty() {
            raised = outside(state, raised);
        }
        let step = step(state, raised, dialect);
        let caught = step.catch.is_some();
        steps.push(step);
        if caught {
            break;
        }
    }
    steps
}

/// As what an error is known to the Parallel or Map around.
fn outside<'e>(around: &State, raised: Raised<'e>) -> Raised<'e> {
    let raised = raised.outside();
    let too_many = Raised::named(error_name::TOO_MANY_FAILURES);
    match &around.kind {
        // Items run as executions of their own: whatever ends one is a failed item.
        Kind::Map(map) if matches!(map.mode, Mode::Distributed(_)) => too_many,
        Kind::Map(map) if map.has_tolerance() && !raised.is_fatal() => too_many,
        _ => raised,
    }
}

fn step(state: &State, raised: Raised<'_>, dialect: Dialect) -> Step {
    Step {
        state: state.name.to_string(),
        error: raised.name.to_owned(),
        retry: handling::retrier(state, raised, dialect).map(|found| retried(&found)),
        catch: handling::catcher(state, raised, dialect).map(|found| caught(state, &found)),
    }
}

fn retried(found: &Matched<'_, Retrier>) -> Retried {
    let retrier = found.handler;
    let listed = retrier.max_attempts.min(DELAYS_MAX as u64);
    let total = retrier.total_delay_seconds();
    let last = retrier.max_attempts.checked_sub(1).map(|last| retrier.delay_seconds(last));
    Retried {
        index: found.index,
        matched: found.pattern.to_owned(),
        max_attempts: retrier.max_attempts,
        delays_seconds: (0..listed).map(|attempt| retrier.delay_seconds(attempt)).collect(),
        total_delay_seconds: Some(total).filter(|total| total.is_finite()),
        last_delay_seconds: last.filter(|last| last.is_finite()),
        full_jitter: retrier.jitter == Jitter::Full,
    }
}

fn caught(state: &State, found: &Matched<'_, Catcher>) -> Caught {
    let catcher = found.handler;
    let receives = match (state.query_language, &catcher.result_path) {
        (QueryLanguage::Jsonata, _) if catcher.output.is_some() => Receives::Output,
        (QueryLanguage::Jsonata, _) | (_, ResultPath::Replace) => Receives::Error,
        (_, ResultPath::Discard) => Receives::Input,
        (_, ResultPath::Insert(path)) => {
            Receives::InputWithError { path: path.as_str().to_owned() }
        }
    };
    Caught {
        index: found.index,
        matched: found.pattern.to_owned(),
        next: catcher.next.name.to_string(),
        receives,
        assigns: names(catcher.assign.as_ref()),
    }
}

fn names(assign: Option<&Assign>) -> Vec<String> {
    assign.map(|assign| assign.names.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use everstep_asl::error_name::{ALL, BRANCH_FAILED, DATA_LIMIT_EXCEEDED, RUNTIME, TIMEOUT};
    use everstep_asl::handling::Origin;
    use everstep_asl::{Machine, Options, Source};
    use serde_json::{Value, json};

    use super::super::scope;
    use super::*;

    /// The task `Pack` inside of a state that has these fields besides.
    fn around(kind: &str, fields: Value) -> Machine {
        let pack =
            json!({ "Type": "Task", "Resource": "arn:aws:lambda:r:1:function:f", "End": true });
        let inner = json!({ "StartAt": "Pack", "States": { "Pack": pack } });
        let mut outer = json!({ "Type": kind, "Next": "Done" });
        match kind {
            "Parallel" => outer["Branches"] = json!([inner]),
            _ => outer["ItemProcessor"] = inner,
        }
        for (name, value) in fields.as_object().expect("fields") {
            outer[name] = value.clone();
        }
        let states = json!({ "Ship": outer, "Done": { "Type": "Succeed" } });
        let text = json!({ "StartAt": "Ship", "States": states }).to_string();
        let parsed = everstep_asl::parse(&Source::new("test.json", text), &Options::default());
        parsed.into_machine().expect("a definition without errors")
    }

    fn catching(pattern: &str) -> Value {
        json!({ "Catch": [{ "ErrorEquals": [pattern], "Next": "Done" }] })
    }

    /// By which name the state around `Pack` catches an error of it, in each dialect.
    fn check(machine: &Machine, raised: Raised<'_>, expected: [Option<&str>; 2]) {
        let states = scope::each(machine);
        let pack = states.iter().find(|found| &*found.state.name == "Pack").expect("it is there");
        for (dialect, expected) in Dialect::EACH.into_iter().zip(expected) {
            let steps = follow(pack, raised, dialect);
            let caught = steps[1].catch.as_ref().map(|caught| &*caught.matched);
            assert_eq!(caught, expected, "{raised:?} {dialect:?}");
        }
    }

    #[test]
    fn a_wildcard_around_does_not_catch_a_result_that_is_too_large() {
        let large = Raised { name: DATA_LIMIT_EXCEEDED, origin: Origin::OversizedResult };
        check(&around("Parallel", catching(ALL)), large, [None, None]);
        check(&around("Map", catching(ALL)), large, [None, None]);
        let own = Some(DATA_LIMIT_EXCEEDED);
        check(&around("Parallel", catching(DATA_LIMIT_EXCEEDED)), large, [own, own]);
    }

    #[test]
    fn branch_failed_is_of_the_specification_alone() {
        let parallel = around("Parallel", catching(BRANCH_FAILED));
        check(&parallel, Raised::named("OutOfStock"), [Some(BRANCH_FAILED), None]);
        check(&parallel, Raised::named(TIMEOUT), [Some(BRANCH_FAILED), None]);
        check(&parallel, Raised::named(RUNTIME), [None, None]);
        check(&around("Map", catching(BRANCH_FAILED)), Raised::named("X"), [None, None]);
    }

    #[test]
    fn a_map_that_tolerates_failures_fails_by_a_name_of_its_own() {
        let name = "States.ExceedToleratedFailureThreshold";
        let mut fields = catching(name);
        fields["ToleratedFailureCount"] = json!(1);
        check(&around("Map", fields), Raised::named("OutOfStock"), [Some(name), Some(name)]);
        check(&around("Map", catching(name)), Raised::named("OutOfStock"), [None, None]);
    }
}
