//! Visits, attempts and failures as a whole execution has them.

use everstep_asl::Dialect;
use everstep_story::{Happened, Otherwise, Outcome, Standing, Story, Verdict, Visit};
use serde_json::{Value, json};

use crate::harness::{Tasks, observed, parallel, story, task};

/// `Ship[0]/Pack failed 0.0–3.0 s, 2 attempts`
fn shown(visit: &Visit) -> String {
    let Visit { place, outcome, entered_ms, left_ms, attempts, .. } = visit;
    let outcome = format!("{outcome:?}").to_lowercase();
    format!("{place} {outcome} {entered_ms}–{} {}", left_ms.unwrap_or(-1), attempts.len())
}

fn check(states: &Value, tasks: Tasks, expected: &[&str]) {
    let story = story(states, Dialect::Spec, tasks);
    let visits: Vec<String> = story.visits().iter().map(shown).collect();
    assert_eq!(visits, expected);
}

const FAIL: Tasks = Tasks::FailWith("OutOfStock");

fn retrying() -> Value {
    let retry = json!([
        { "ErrorEquals": ["OutOfStocks"], "MaxAttempts": 9 },
        { "ErrorEquals": ["OutOfStock"], "IntervalSeconds": 1, "BackoffRate": 2, "MaxAttempts": 2 },
    ]);
    let catch = json!([{ "ErrorEquals": ["States.ALL"], "Next": "Done" }]);
    json!({
        "Pack": task(json!({ "Retry": retry, "Catch": catch })),
        "Done": { "Type": "Succeed" }
    })
}

#[test]
fn every_attempt_is_there() {
    check(&retrying(), FAIL, &["Pack caught 0–3000 3", "Done succeeded 3000–3000 0"]);
    let story = story(&retrying(), Dialect::Spec, FAIL);
    let attempts = &story.visits()[0].attempts;
    let times: Vec<_> =
        attempts.iter().map(|one| (one.scheduled_ms, one.ended_ms, one.retry_ms)).collect();
    let expected =
        [(0, Some(0), Some(1000)), (1000, Some(1000), Some(3000)), (3000, Some(3000), None)];
    assert_eq!(times, expected);
    assert!(attempts.iter().all(|one| one.failure.is_some()));
}

#[test]
fn the_answers_to_a_failure_that_is_retried() {
    let story = story(&retrying(), Dialect::Spec, FAIL);
    let retried = story.entries().iter().find_map(|entry| match &entry.happened {
        Happened::Retried { retrier, retriers, catchers, finally, .. } => {
            Some((retrier, retriers, catchers, finally))
        }
        _ => None,
    });
    let (retrier, retriers, catchers, finally) = retried.expect("it is retried");
    assert_eq!((retrier.number, retrier.retry, retrier.delay_ms), (2, 1, 1000));
    assert_eq!(retrier.next_delay_ms, Some(2000));
    assert_eq!(retriers[0].verdict, Verdict::NoMatch);
    let reason = "`OutOfStocks` is spelled differently from `OutOfStock`";
    assert_eq!(retriers[0].reason.as_deref(), Some(reason));
    assert_eq!(retriers[1].verdict, Verdict::TookOver);
    assert_eq!(catchers[0].verdict, Verdict::TookOver);
    assert!(matches!(finally, Otherwise::Caught { next, .. } if next == "Done"), "{finally:?}");
}

#[test]
fn branches_and_items_have_places_of_their_own() {
    let expected = ["Ship failed 0–0 1", "Ship[0]/Pack failed 0–0 1"];
    check(&parallel(task(json!({})), json!({})), FAIL, &expected);
    let item = json!({ "StartAt": "Pack", "States": { "Pack": { "Type": "Pass", "End": true } } });
    let map = json!({ "Ship": {
        "Type": "Map", "ItemsPath": "$.items", "ItemProcessor": item, "End": true
    } });
    let item = "Ship/Pack succeeded 0–0 0";
    check(&map, FAIL, &["Ship succeeded 0–0 1", item, item]);
}

/// A Parallel that is retried begins its branches anew; those of the first attempt are over.
#[test]
fn nothing_stays_open() {
    let retry = json!({ "Retry": [{ "ErrorEquals": ["States.ALL"], "MaxAttempts": 1 }] });
    let states = parallel(task(json!({})), retry);
    let story = story(&states, Dialect::Spec, FAIL);
    assert!(story.visits().iter().all(|visit| visit.outcome != Outcome::Open));
    assert_eq!(story.report().open.shown, []);
    assert_eq!(story.standing(), Standing::Failed);
}

/// The state whose data do not fit is blamed, and then the one around it.
#[test]
fn a_failure_is_blamed_on_where_it_began() {
    let item = json!({ "StartAt": "Pack", "States": { "Pack": { "Type": "Pass", "End": true } } });
    let map =
        json!({ "Type": "Map", "ItemsPath": "$.missing", "ItemProcessor": item, "End": true });
    let branch = json!({ "StartAt": "Each", "States": { "Each": map } });
    let states = json!({ "Ship": { "Type": "Parallel", "Branches": [branch], "End": true } });
    for dialect in Dialect::EACH {
        let report = story(&states, dialect, FAIL).report();
        let blamed: Vec<&str> =
            report.ending.shown.iter().map(|entry| entry.state.as_str()).collect();
        assert_eq!(blamed, ["Each", "Ship"], "{dialect:?}");
    }
}

#[test]
fn long_causes_are_cut() {
    let entries = |bytes: usize| {
        let states = json!({ "Pack": task(json!({})) });
        let story = Story::new(Dialect::Spec).with_causes_up_to(bytes);
        observed(story, &states, Dialect::Spec, FAIL).entries().to_vec()
    };
    let cause = |bytes| entries(bytes)[0].problem().and_then(|problem| problem.cause.clone());
    assert_eq!(cause(8).as_deref(), Some("scripted"));
    assert_eq!(cause(7).as_deref(), Some("…"));
}
