//! How long things can take at most.

use everstep_asl::Machine;
use everstep_asl::model::{Kind, Map, Operand, State, Task, WaitUntil};
use serde::Serialize;

use super::flow;

/// What an attempt may take that does not say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DefaultTimeout(f64);

/// The specification's default.
pub(super) const SPECIFICATION: DefaultTimeout = DefaultTimeout(60.0);
/// The service's default.
pub(super) const AWS: DefaultTimeout = DefaultTimeout(99_999_999.0);

/// An upper bound, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Bound {
    Seconds(f64),
    Unknown(String),
}

/// Under the specification's default timeout and under the service's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Longest {
    pub specification: Bound,
    pub aws: Bound,
}

impl Longest {
    pub(super) fn of_state(state: &State) -> Self {
        Self { specification: of_state(state, SPECIFICATION), aws: of_state(state, AWS) }
    }

    pub(super) fn of_machine(machine: &Machine) -> Self {
        Self { specification: of_machine(machine, SPECIFICATION), aws: of_machine(machine, AWS) }
    }
}

impl Bound {
    fn and(self, other: Self, combine: impl FnOnce(f64, f64) -> f64) -> Self {
        match (self, other) {
            (Self::Seconds(one), Self::Seconds(other)) => Self::Seconds(combine(one, other)),
            (Self::Unknown(why), _) | (_, Self::Unknown(why)) => Self::Unknown(why),
        }
    }
}

/// How often a state is tried at most, if every retrier is used up.
pub(super) fn attempts_max(state: &State) -> u64 {
    1 + state.retry().iter().map(|retrier| retrier.max_attempts).sum::<u64>()
}

/// All the waits between these attempts.
pub(super) fn waits_max(state: &State) -> f64 {
    state.retry().iter().fold(0.0, |sum, retrier| sum + retrier.total_delay_seconds())
}

fn of_state(state: &State, default: DefaultTimeout) -> Bound {
    let once = match &state.kind {
        Kind::Task(task) => of_task(state, task, default),
        Kind::Wait(wait) => of_wait(state, &wait.until),
        Kind::Parallel(parallel) => parallel
            .branches
            .iter()
            .map(|branch| of_machine(branch, default))
            .fold(Bound::Seconds(0.0), |one, other| one.and(other, f64::max)),
        Kind::Map(map) => of_map(state, map),
        Kind::Pass(_) | Kind::Choice(_) | Kind::Succeed | Kind::Fail(_) => Bound::Seconds(0.0),
    };
    // An upper bound of this size needs no unit.
    let attempts = attempts_max(state) as f64;
    once.and(Bound::Seconds(waits_max(state)), |once, waits| attempts * once + waits)
}

fn of_task(state: &State, task: &Task, default: DefaultTimeout) -> Bound {
    match &task.timeout {
        None => Bound::Seconds(default.0),
        // At most 99,999,999.
        Some(Operand::Literal(seconds)) => Bound::Seconds(*seconds as f64),
        Some(_) => Bound::Unknown(format!("the data sets the timeout of `{}`", state.name)),
    }
}

fn of_wait(state: &State, until: &WaitUntil) -> Bound {
    match until {
        // At most 99,999,999.
        WaitUntil::Seconds(Operand::Literal(seconds)) => Bound::Seconds(*seconds as f64),
        WaitUntil::Seconds(_) => {
            Bound::Unknown(format!("the data sets how long `{}` waits", state.name))
        }
        WaitUntil::Timestamp(_) => {
            Bound::Unknown(format!("`{}` waits until a timestamp", state.name))
        }
    }
}

fn of_map(state: &State, _: &Map) -> Bound {
    Bound::Unknown(format!("`{}` runs once for each item", state.name))
}

/// The longest way through, errors included; the machine's own timeout ends every way.
fn of_machine(machine: &Machine, default: DefaultTimeout) -> Bound {
    let found = longest_way(machine, default);
    // At most 99,999,999.
    let timeout = machine.timeout_seconds.map(|seconds| seconds as f64);
    match (found, timeout) {
        (Bound::Seconds(seconds), Some(timeout)) => Bound::Seconds(seconds.min(timeout)),
        (Bound::Unknown(_), Some(timeout)) => Bound::Seconds(timeout),
        (found, None) => found,
    }
}

fn longest_way(machine: &Machine, default: DefaultTimeout) -> Bound {
    let order = match flow::topological(machine) {
        Ok(order) => order,
        Err(repeated) => {
            let names: Vec<String> = repeated.iter().map(|name| format!("`{name}`")).collect();
            return Bound::Unknown(format!("{} can repeat forever", shortened(names)));
        }
    };
    let mut until: Vec<Bound> = vec![Bound::Seconds(0.0); machine.states.len()];
    let mut longest = Bound::Seconds(0.0);
    for id in order {
        let state = machine.state(id);
        let begins = until[id.0 as usize].clone();
        let ends = begins.and(of_state(state, default), |begins, takes| begins + takes);
        for next in state.successors() {
            let before = &mut until[next.id.0 as usize];
            *before = before.clone().and(ends.clone(), f64::max);
        }
        longest = longest.and(ends, f64::max);
    }
    longest
}

fn shortened(mut names: Vec<String>) -> String {
    const SHOWN_MAX: usize = 4;
    if names.len() > SHOWN_MAX {
        let more = names.len() - SHOWN_MAX;
        names.truncate(SHOWN_MAX);
        names.push(format!("{more} more"));
    }
    names.join(", ")
}
