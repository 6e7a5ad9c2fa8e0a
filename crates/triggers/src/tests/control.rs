//! Pause, resume, fire.

use super::harness::{World, items, plan, timer, timer_plan};
use crate::driver::Input;
use crate::item::{Outcome, Refused, Settled};
use crate::plan::{Origin, Plan};
use crate::standing::State;

const START: &str = "2026-01-01T00:00:30Z";

fn minutely() -> World {
    World::new(timer_plan(timer("0 * * * * *", "UTC")), START)
}

#[test]
fn a_paused_timer_misses_nothing() {
    let mut world = minutely();
    world.pass(40);
    world.input(Input::Pause { handle: 1 });
    world.settle();
    assert_eq!((world.confirmed.as_slice(), world.standing().state), (&[1][..], State::Paused));
    world.pass(300);
    world.is_away(300_000);
    world.pass(60);
    assert_eq!(world.accepted().len(), 1);
    world.input(Input::Resume { handle: 2 });
    world.settle();
    assert_eq!((world.confirmed.as_slice(), world.accepted().len()), (&[1, 2][..], 1));
    world.pass(60);
    assert_eq!(world.accepted(), ["20260101T000100Z", "20260101T001300Z"]);
}

#[test]
fn a_pause_is_durable_when_it_is_confirmed() {
    let mut world = minutely();
    world.settle();
    world.input(Input::Pause { handle: 1 });
    world.settle();
    world.is_away(600_000);
    world.pass(120);
    assert_eq!((world.standing().state, world.accepted().len()), (State::Paused, 0));
}

#[test]
fn a_paused_source_is_not_read_and_what_it_has_given_goes_back() {
    let mut world = World::new(plan(Origin::Fetched { idle_ms: 1000 }), START);
    world.plan.in_order = true;
    world.is_away(0);
    world.source = items(5);
    world.runs = Box::new(|_| (10_000, Outcome::Succeeded));
    world.pass(1);
    world.input(Input::Pause { handle: 9 });
    world.pass(60);
    assert_eq!(world.accepted(), ["0"]);
    let refused: Vec<u64> = world
        .settled
        .iter()
        .filter(|(_, settled)| *settled == Settled::Refused(Refused::Stopped))
        .map(|(handle, _)| *handle)
        .collect();
    assert_eq!(refused, [1, 2, 3, 4]);
    world.input(Input::Resume { handle: 10 });
    world.pass(60);
    assert_eq!(world.accepted(), ["0", "1", "2", "3", "4"]);
}

#[test]
fn who_offers_to_a_paused_trigger_is_refused() {
    let mut world = World::new(plan(Origin::Offered), START);
    world.input(Input::Pause { handle: 9 });
    world.input(Input::Offered(items(1).remove(0)));
    world.settle();
    assert_eq!(world.settled, [(0, Settled::Refused(Refused::Stopped))]);
}

#[test]
fn a_disabled_trigger_misses_nothing() {
    let mut world =
        World::new(Plan { enabled: false, ..timer_plan(timer("0 * * * * *", "UTC")) }, START);
    world.pass(300);
    assert_eq!((world.standing().state, world.accepted().len()), (State::Disabled, 0));
    world.plan.enabled = true;
    world.is_away(0);
    world.settle();
    assert_eq!(world.accepted().len(), 0);
    world.pass(60);
    assert_eq!(world.accepted().len(), 1);
}

#[test]
fn a_trigger_can_be_fired_by_hand_whatever_its_state() {
    let mut world = minutely();
    world.input(Input::Pause { handle: 1 });
    let fire = |world: &mut World, payload: Option<&[u8]>| {
        let payload = payload.map(<[u8]>::to_vec);
        world.input(Input::Fired {
            id: format!("fired-{}", world.settled.len()),
            payload,
            handle: 5,
        });
        world.settle();
        world.settled.last().expect("an answer").1.clone()
    };
    assert!(matches!(fire(&mut world, None), Settled::Accepted { known: false, .. }));
    assert_eq!(world.events()[0]["scheduledFor"], serde_json::Value::Null);
    assert!(matches!(fire(&mut world, Some(b"{\"n\":1}")), Settled::Accepted { .. }));
    assert_eq!(world.events()[1]["n"], 1);
    let mut offered = World::new(plan(Origin::Offered), START);
    assert_eq!(fire(&mut offered, None), Settled::Refused(Refused::NeedsPayload));
}
