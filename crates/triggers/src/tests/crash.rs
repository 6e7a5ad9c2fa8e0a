//! Whenever the engine dies, between any two requests: nothing is lost, nothing is accepted twice, order is kept, and the
//! cursor never passes what is not over.

use std::collections::BTreeMap;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::harness::{World, items, plan};
use crate::driver::Input;
use crate::item::Outcome;
use crate::plan::{Ack, OnExhausted, Origin, Plan};

const START: &str = "2026-01-01T00:00:00Z";
const ITEMS: u64 = 12;

fn drawn(chance: &mut Pcg64Mcg) -> Plan {
    let coin = |chance: &mut Pcg64Mcg| chance.next_u64().is_multiple_of(2);
    Plan {
        in_order: coin(chance),
        ack: if coin(chance) { Ack::OnAccept } else { Ack::OnComplete },
        on_exhausted: match chance.next_u64() % 3 {
            0 => OnExhausted::DeadLetter,
            1 => OnExhausted::Skip,
            _ => OnExhausted::Block,
        },
        backlog_max: 1 + usize::try_from(chance.next_u64() % 5).expect("small"),
        ..plan(Origin::Fetched { idle_ms: 100 })
    }
}

fn storm(seed: u64) {
    let mut chance = Pcg64Mcg::seed_from_u64(seed);
    let plan = drawn(&mut chance);
    let blocks = plan.on_exhausted == OnExhausted::Block;
    let mut world = World::new(plan, START);
    world.source = items(ITEMS);
    if !world.plan.in_order && chance.next_u64().is_multiple_of(2) {
        // A queue: it knows no positions, and brings again what was not acknowledged.
        world.source.iter_mut().for_each(|item| item.position = None);
    }
    let salt = chance.next_u64();
    world.runs = Box::new(move |item| {
        let number: u64 = item.parse().expect("a number");
        let mixed = (number ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        let failed = Outcome::Failed { error: "E".to_owned() };
        (
            i64::try_from(mixed % 3000).expect("small"),
            if mixed.is_multiple_of(5) { failed } else { Outcome::Succeeded },
        )
    });
    let (mut crashes, mut writes) = (0, 0);
    for _ in 0..4000 {
        match chance.next_u64() % 40 {
            0 if crashes < 8 => {
                crashes += 1;
                world.is_away(i64::try_from(chance.next_u64() % 2000).expect("small"));
            }
            1 => world.busy = 1,
            2 => world.now_ms += i64::try_from(chance.next_u64() % 700).expect("small"),
            3 if blocks => {
                // Somebody gives up on what blocks, and lets it pass.
                world.runs = Box::new(|_| (10, Outcome::Succeeded));
                world.input(Input::Resume { handle: 99 });
            }
            4..=19 => drop(world.happen()),
            _ => {
                let which = usize::try_from(chance.next_u64() % 4).expect("small");
                world.perform(which);
            }
        }
        if world.sizes.len() > writes {
            writes = world.sizes.len();
            check_order(&world, seed);
        }
    }
    world.runs = Box::new(|_| (10, Outcome::Succeeded));
    for _ in 0..20 {
        world.pass(10);
        if blocks {
            world.input(Input::Resume { handle: 99 });
        }
    }
    let mut times: BTreeMap<&str, usize> = BTreeMap::new();
    for started in world.invocations.values() {
        *times.entry(&started.item).or_default() += usize::from(started.redriven_as.is_none());
    }
    assert_eq!(times.len() as u64, ITEMS, "seed {seed}: {times:?}");
    assert!(times.values().all(|times| *times == 1), "seed {seed}: {times:?}");
    let standing = world.standing();
    assert_eq!(standing.counters.ended(), ITEMS, "seed {seed}: {standing:?}");
    // What is read from a position need not be acknowledged.
    let left = world.source.iter().filter(|item| item.position.is_none()).count();
    assert_eq!((world.flight_rows(), left), (0, 0), "seed {seed}: {standing:?}");
}

/// In order: an item is accepted when all before it are over.
fn check_order(world: &World, seed: u64) {
    let number = |item: &str| item.parse::<u64>().expect("a number");
    let cursor = world.cursors.last().and_then(|cursor| cursor.as_deref()).map(number);
    for started in world.invocations.values().filter(|started| started.redriven_as.is_none()) {
        let is_open = started.ends_ms > world.now_ms;
        let is_past = cursor.is_some_and(|cursor| cursor >= number(&started.item));
        assert!(
            !is_open || !is_past,
            "seed {seed}: the cursor {cursor:?} has passed {}",
            started.item
        );
        if world.plan.in_order {
            let mut others = world.invocations.values();
            let early = others.find(|other| {
                number(&other.item) > number(&started.item) && other.accepted_ms < started.ends_ms
            });
            assert!(
                early.is_none(),
                "seed {seed}: {early:?} was accepted before {started:?} was over"
            );
        }
    }
}

#[test]
fn nothing_is_lost_or_accepted_twice_whatever_is_killed() {
    for seed in 0..600 {
        storm(seed);
    }
}
