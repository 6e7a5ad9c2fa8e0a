//! Functions drawn by the seed: policies, slots, routes, chains.

use everstep_invocations::{
    Edge, EdgeInput, FunctionSettings, INTERRUPTIONS_MAX, Interrupted, RetryMetadata, Settings,
    Target, Terms,
};
use everstep_retry::{Delay, Jitter, Policy, Rule};

use crate::dice::Dice;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// The state machine that records may be sent to.
pub(crate) const SINK: &str = "arn:aws:states:us-east-1:000000000000:stateMachine:sink";
pub(crate) const URL: &str = "https://example.com/records";

/// Errors that functions fail with.
pub(crate) const ERRORS: [&str; 3] = ["Flaky", "Busy", "Fatal"];

/// The error of an attempt whose worker cannot be started.
pub(crate) const UNSTARTABLE: &str = "Unstartable";

pub(crate) fn settings(dice: &mut Dice) -> Settings {
    let shards = everstep_shards::Settings {
        horizon_ms: dice.pick(&[MINUTE_MS, 10 * MINUTE_MS]).cast_signed(),
        sweep_every_ms: dice.pick(&[MINUTE_MS, 10 * MINUTE_MS]).cast_signed(),
        deliveries_max: dice.pick(&[1, 2, 100]),
        ..everstep_shards::Settings::default()
    };
    Settings {
        shards,
        retention_ms: dice.pick(&[20 * MINUTE_MS, 7 * 24 * HOUR_MS]).cast_signed(),
        dead_letter_retention_ms: dice.pick(&[None, Some((HOUR_MS).cast_signed())]),
        depth_max: 3,
        session_steps_max: dice.pick(&[2, 10]),
        ..Settings::default()
    }
}

pub(crate) fn name(number: usize) -> String {
    format!("f{number}")
}

/// A function out of so many. Routes lead to those with higher numbers, so that chains end.
pub(crate) fn draw(dice: &mut Dice, number: usize, count: usize) -> FunctionSettings {
    let name = name(number);
    let later = |dice: &mut Dice| {
        let left = count - number - 1;
        (left > 0).then(|| self::name(number + 1 + dice.below(left)))
    };
    let mut terms = Terms {
        arn: format!("arn:aws:lambda:us-east-1:000000000000:function:{name}"),
        policy: policy(dice),
        interrupted: dice.pick(&[
            Interrupted::Count,
            Interrupted::Repeat { most: 1 },
            Interrupted::Repeat { most: INTERRUPTIONS_MAX },
        ]),
        on_success: targets(dice, later),
        on_failure: targets(dice, later),
        retry_metadata: dice.pick(&[RetryMetadata::None, RetryMetadata::Unum]),
        ..Terms::default()
    };
    for input in [EdgeInput::Scalar, EdgeInput::Error] {
        if dice.percent(30)
            && let Some(function) = later(dice)
        {
            terms.next.push(Edge { function, input });
        }
    }
    if dice.percent(4) {
        // A loop, which the bound on steps ends.
        terms.next.push(Edge { function: name, input: EdgeInput::Scalar });
    }
    FunctionSettings {
        version: "1".to_owned(),
        concurrency: u32::try_from(1 + dice.below(3)).unwrap_or(1),
        throttles: dice.percent(50),
        failures_answer: dice.percent(50),
        event_age_max_ms: dice.pick(&[None, None, Some(6 * HOUR_MS), Some(10 * MINUTE_MS)]),
        terms,
    }
}

fn policy(dice: &mut Dice) -> Policy {
    let rule = |dice: &mut Dice, errors: &str| Rule {
        errors: vec![errors.to_owned()],
        retries_max: dice.pick(&[Some(0), Some(1), Some(2), Some(4), None]),
        delay: delay(dice),
    };
    let mut rules = Vec::new();
    if dice.percent(40) {
        rules.push(rule(dice, "Flaky"));
    }
    if dice.percent(85) {
        rules.push(rule(dice, "Error.ALL"));
    }
    Policy { rules, non_retryable: vec!["Fatal".to_owned()] }
}

fn delay(dice: &mut Dice) -> Delay {
    match dice.below(4) {
        0 => Delay::Fixed { ms: dice.pick(&[0, 1000, 15 * MINUTE_MS]) },
        1 => Delay::Azure { min_ms: 1000, max_ms: MINUTE_MS },
        2 => Delay::Listed { ms: vec![MINUTE_MS, 2 * MINUTE_MS] },
        _ => Delay::Exponential {
            base_ms: 500,
            rate: 2.0,
            max_ms: Some(20 * MINUTE_MS),
            jitter: dice.pick(&[Jitter::None, Jitter::Full, Jitter::Equal]),
        },
    }
}

fn targets(dice: &mut Dice, later: impl Fn(&mut Dice) -> Option<String>) -> Vec<Target> {
    let mut targets = Vec::new();
    if dice.percent(30) {
        targets.push(Target::from(URL));
    }
    if dice.percent(20) {
        targets.push(Target::from(SINK));
    }
    if dice.percent(25)
        && let Some(function) = later(dice)
    {
        targets.push(Target::Function(function));
    }
    targets
}
