//! What a distributed Map hands to the world: the inputs of its child executions, and how they are to
//! be run.

use everstep_asl::model::{Kind, State};
use everstep_history::{Attempt, Failure, Payload};

use crate::input::Identity;

/// A Map Run, as it is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct MapRun {
    /// Its identity: a redrive continues the same one under another attempt.
    pub run: Attempt,
    /// One for each child execution.
    pub inputs: Payload,
    /// Children that run at a time; as many as the world likes if it is 0.
    pub max_concurrency: u32,
    pub tolerance: Tolerance,
    pub redrives: u32,
}

/// How many items of a Map may fail.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tolerance {
    pub count: Option<u64>,
    pub percentage: Option<f64>,
}

impl Tolerance {
    /// The lower of the two limits that are set; none may fail if neither is.
    #[must_use]
    pub fn failures(&self, items: usize) -> u64 {
        // At most the number of items.
        let by_percentage =
            self.percentage.map(|percentage| (items as f64 * percentage / 100.0).floor() as u64);
        match (self.count, by_percentage) {
            (Some(count), Some(other)) => count.min(other),
            (count, other) => count.or(other).unwrap_or(0),
        }
    }

    /// Whether so many failed items of so many are too many.
    #[must_use]
    pub fn is_exceeded(&self, failed: usize, items: usize) -> bool {
        failed as u64 > self.failures(items)
    }
}

/// What a Map fails with when too many of its items have failed.
#[must_use]
pub fn too_many_failures() -> Failure {
    Failure::new(
        "States.ExceedToleratedFailureThreshold",
        "The specified tolerated failure threshold was exceeded",
    )
}

/// What a Map Run is called: after the execution, the state and the attempt that started it. The name of
/// the execution that started it can be read off it.
#[must_use]
pub fn arn(identity: &Identity, state: &State, run: Attempt) -> String {
    let machine = identity.machine_arn.replacen(":stateMachine:", ":mapRun:", 1);
    format!("{machine}/{}:{}-{}", label(state), identity.execution_name, run.number)
}

/// What the children of a Map are set apart by: its `Label`, or what can be taken of its name.
#[must_use]
pub fn label(state: &State) -> String {
    if let Kind::Map(map) = &state.kind
        && let Some(label) = &map.label
    {
        return label.clone();
    }
    let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    state.name.chars().take(LABEL_LETTERS_MAX).map(plain).collect()
}

const LABEL_LETTERS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn check(count: Option<u64>, percentage: Option<f64>, items: usize, expected: u64) {
        let tolerance = Tolerance { count, percentage };
        assert_eq!(tolerance.failures(items), expected, "{tolerance:?} of {items}");
        assert!(!tolerance.is_exceeded(usize::try_from(expected).expect("small"), items));
        assert!(tolerance.is_exceeded(usize::try_from(expected).expect("small") + 1, items));
    }

    #[test]
    fn the_lower_limit_counts() {
        check(None, None, 10, 0);
        check(Some(3), None, 10, 3);
        check(None, Some(25.0), 10, 2);
        check(Some(3), Some(10.0), 10, 1);
        check(Some(1), Some(100.0), 10, 1);
        check(None, Some(100.0), 10, 10);
    }
}
