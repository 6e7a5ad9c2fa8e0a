//! Whenever the engine dies, and whatever of its last commits has survived: no count is lost, no result
//! counts twice, no delivery is lost.

use std::sync::Arc;
use std::sync::mpsc;

use everstep_store::{Behaviour, CrashingStore, Space, Store};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::harness::{Harness, fails, fixed, locked, settings};
use crate::invocation::Invocation;
use crate::layout::{self, Part};
use crate::message::{Message, Resend};
use crate::{Edge, EdgeInput, Filter, InvocationId, SessionStatus, State, Target, reader};

const SHARDS: u16 = 3;
/// Steps after which a run that has not come to its end never will.
const STEPS_MAX: usize = 200_000;

struct Storm {
    disk: Arc<CrashingStore>,
    harness: Harness,
    chance: Pcg64Mcg,
    crashes_left: u64,
    /// A request that a client repeats until it is acknowledged.
    wanted: Vec<Want>,
}

struct Want {
    message: Box<dyn Fn(mpsc::Sender<()>) -> Message>,
    answer: Option<mpsc::Receiver<()>>,
}

impl Storm {
    fn new(seed: u64, crashes_max: u64) -> Self {
        let mut chance = Pcg64Mcg::seed_from_u64(seed);
        let disk = Arc::new(CrashingStore::new(SHARDS, seed, Behaviour::default()));
        let crashes_left = chance.next_u64() % (crashes_max + 1);
        let harness = Harness::on(disk.clone());
        let storm = Self { disk, harness, chance, crashes_left, wanted: Vec::new() };
        storm.watch_starts();
        storm.watch_receipts();
        storm
    }

    /// W2: a start is durable before the event is handed over.
    fn watch_starts(&self) {
        let disk = self.disk.clone();
        *locked(&self.harness.script.inspector) = Some(Box::new(move |attempt| {
            let stored = durable(&disk, attempt.invocation).expect("W1: accepted before it runs");
            let found = stored.attempts.kept().any(|known| known.id == attempt.id);
            assert!(found, "W2: {} of {} is not durable", attempt.n, attempt.invocation);
        }));
    }

    /// W3: a result is durable before its receipt.
    fn watch_receipts(&self) {
        let disk = self.disk.clone();
        *locked(&self.harness.script.auditor) = Some(Arc::new(move |attempt, answer| {
            if answer.is_ok() {
                let stored = durable(&disk, attempt.invocation).expect("it is there");
                let mut kept = stored.attempts.kept();
                let ended = kept.any(|known| known.id == attempt.id && known.ended_ms.is_some());
                assert!(ended, "W3: the result of {} is not durable", attempt.n);
            }
        }));
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.chance.next_u64() % n.max(1) as u64).expect("it fits")
    }

    fn want(&mut self, message: impl Fn(mpsc::Sender<()>) -> Message + 'static) {
        self.wanted.push(Want { message: Box::new(message), answer: None });
    }

    /// Accepts an event until that is durable.
    fn want_accepted(&mut self, function: &str, id: InvocationId) {
        let mut acceptance = self.harness.acceptance(function, "{}");
        acceptance.id = id;
        let disk = self.disk.clone();
        self.want(move |sender| {
            let (acceptance, disk) = (Box::new(acceptance.clone()), disk.clone());
            let reply = Box::new(move |answer: crate::Result<_>| {
                if answer.is_ok() {
                    assert!(durable(&disk, id).is_some(), "W1: not durable");
                    let _ = sender.send(());
                }
            });
            Message::Accept { acceptance, reply, watcher: None }
        });
    }

    fn crash(&mut self) {
        self.disk.crash();
        for want in &mut self.wanted {
            want.answer = None;
        }
        self.harness.open();
        let jump = i64::try_from(self.below(5000)).expect("it fits");
        self.harness.set_now(self.harness.now_ms() + jump);
    }

    /// Something happens, whatever it is; whether there was anything.
    fn step(&mut self) -> bool {
        let (posts, runs) =
            (locked(&self.harness.post.0).len(), locked(&self.harness.script.running).len());
        let outside = locked(&self.harness.outside.waiting).len();
        let unclaimed = locked(&self.harness.script.waiting).len();
        let busy = [self.disk.waiting(), posts, runs, outside, unclaimed];
        if self.crashes_left > 0 && self.below(60) == 0 {
            self.crashes_left -= 1;
            self.crash();
            return true;
        }
        match self.below(7) {
            0 | 1 if busy[0] > 0 => self.disk.settle(1),
            2 if busy[1] > 0 => drop(self.harness.handle_one()),
            3 if busy[2] > 0 => {
                let which = self.below(busy[2]);
                self.harness.script.answer_one(which);
            }
            4 if busy[3] > 0 => {
                *locked(&self.harness.outside.down) = self.below(4) == 0;
                self.harness.outside.answer_one();
            }
            5 if busy[4] > 0 => {
                let which = self.below(busy[4]);
                self.harness.script.take_one(which);
            }
            6 => return self.tick_or_ask(busy.iter().all(|count| *count == 0)),
            _ => {}
        }
        true
    }

    fn tick_or_ask(&mut self, idle: bool) -> bool {
        let now_ms = self.harness.now_ms();
        let next = self.harness.shards.iter_mut().filter_map(|shard| shard.tick(now_ms)).min();
        self.wanted
            .retain(|want| want.answer.as_ref().is_none_or(|answer| answer.try_recv().is_err()));
        if let Some(place) = self.wanted.iter().position(|want| want.answer.is_none()) {
            let (sender, receiver) = mpsc::channel();
            self.wanted[place].answer = Some(receiver);
            let message = (self.wanted[place].message)(sender);
            self.harness.handle(message);
            return true;
        }
        let quiet = idle && self.disk.waiting() == 0 && locked(&self.harness.post.0).is_empty();
        if quiet {
            let open = self.harness.all(&Filter::default());
            if self.wanted.is_empty() && open.iter().all(Invocation::is_routed) {
                return false;
            }
            self.harness.set_now(next.expect("it has not failed").max(now_ms + 1));
        }
        true
    }

    /// Until everything is over and delivered.
    fn run(&mut self) {
        for _ in 0..STEPS_MAX {
            if !self.step() {
                return;
            }
        }
        panic!("it never comes to an end");
    }

    /// All invocations of a function.
    fn of(&self, function: &str) -> Vec<Invocation> {
        let function = Some(function.to_owned());
        self.harness.all(&Filter { function, ..Filter::default() })
    }

    /// Every attempt was seen once, and once more for each interruption, but those in which its start had become
    /// durable and the worker did not have the event yet.
    fn check_lines(&self, invocation: &Invocation) {
        let lines = locked(&self.harness.script.lines);
        for attempt in invocation.attempts.kept() {
            let seen = lines.iter().filter(|line| line.attempt.id == attempt.id).count();
            let most = 1 + attempt.interruptions as usize;
            assert!((1..=most).contains(&seen), "attempt {} was seen {seen} times", attempt.n);
        }
        let of_it = lines.iter().filter(|line| line.attempt.invocation == invocation.id);
        let known = |id| invocation.attempts.kept().any(|attempt| attempt.id == id);
        assert!(of_it.clone().all(|line| known(line.attempt.id)), "a start was forgotten");
    }
}

fn durable(disk: &CrashingStore, id: InvocationId) -> Option<Invocation> {
    let key = layout::part(id, Part::Record);
    let row = disk.durable_row(id.shard(disk.shards()), Space::Invocations, &key)?;
    Some(Invocation::decode(&row).expect("readable"))
}

/// Runs many storms; a failure says which.
fn storms(count: u64, storm: fn(u64)) {
    let count = std::env::var("EVERSTEP_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(count);
    for seed in 0..count {
        if let Err(panic) = std::panic::catch_unwind(|| storm(seed)) {
            eprintln!("seed {seed}");
            std::panic::resume_unwind(panic);
        }
    }
}

#[test]
fn one_and_max_attempts_end_whenever_the_engine_dies() {
    storms(1500, |seed| {
        let mut storm = Storm::new(seed, 5);
        let mut bad = settings("bad", fixed(4, 1));
        bad.terms.on_failure = vec![Target::from("queue:dead"), Target::from("function:handler")];
        storm.harness.script.set("bad", bad, fails(u32::MAX));
        storm.harness.script.set("handler", settings("handler", fixed(9, 0)), fails(0));
        let id = InvocationId::of_key("bad", &seed.to_string());
        storm.want_accepted("bad", id);
        storm.run();
        let invocation = storm.harness.invocation(id);
        assert_eq!((invocation.state.name(), invocation.attempts.started()), ("Exhausted", 5));
        assert!(invocation.dead);
        storm.check_lines(&invocation);
        let letters = storm.harness.all(&Filter { dead: true, ..Filter::default() });
        assert_eq!(letters.iter().map(|letter| letter.id).collect::<Vec<_>>(), [id]);
        let deliveries = locked(&storm.harness.outside.deliveries);
        assert!(!deliveries.is_empty(), "a delivery was lost");
        assert!(deliveries.iter().all(|delivery| *delivery == deliveries[0]), "the same each time");
        assert_eq!(storm.of("handler").len(), 1, "a destination that is a function runs once");
        assert_eq!(storm.of("handler")[0].state, State::Succeeded);
    });
}

#[test]
fn a_chain_goes_on_and_its_catcher_is_called_once() {
    storms(1000, |seed| {
        let mut storm = Storm::new(seed, 4);
        let edge = |function: &str, input| Edge { function: function.to_owned(), input };
        let mut first = settings("first", fixed(9, 0));
        first.terms.next = vec![edge("second", EdgeInput::Scalar), edge("abort", EdgeInput::Error)];
        let mut second = settings("second", fixed(1, 1));
        second.terms.next = vec![edge("third", EdgeInput::Scalar), edge("abort", EdgeInput::Error)];
        storm.harness.script.set("first", first, fails(0));
        storm.harness.script.set("second", second, fails(u32::MAX));
        storm.harness.script.set("third", settings("third", fixed(9, 0)), fails(0));
        storm.harness.script.set("abort", settings("abort", fixed(9, 0)), fails(0));
        let id = InvocationId::of_key("first", &seed.to_string());
        storm.want_accepted("first", id);
        storm.run();
        let counts = ["first", "second", "third", "abort"].map(|name| storm.of(name).len());
        assert_eq!(counts, [1, 1, 0, 1]);
        storm.of("second").iter().for_each(|one| storm.check_lines(one));
        let session = reader::session(&*storm.disk, id).expect("readable").expect("a session");
        assert_eq!(session.status, SessionStatus::Succeeded { output: b"\"done\"".to_vec() });
    });
}

fn redriven(seed: u64, letters: usize) {
    let mut storm = Storm::new(seed, 0);
    let mut f = settings("f", fixed(0, 0));
    f.terms.on_failure = vec![Target::from("queue:dead")];
    storm.harness.script.set("f", f.clone(), fails(u32::MAX));
    let id = |n: usize| InvocationId::of_key("f", &n.to_string());
    (0..letters).for_each(|n| storm.want_accepted("f", id(n)));
    storm.run();
    let dead = storm.harness.all(&Filter { dead: true, ..Filter::default() });
    assert_eq!(dead.len(), letters);
    storm.harness.script.set("f", f, fails(0));
    storm.crashes_left = 1 + storm.chance.next_u64() % 4;
    for n in 0..letters {
        storm.want(move |sender| {
            let reply = Box::new(move |answer: crate::Result<_>| {
                // Redriven before the crash, without an answer: so much is known of it now.
                assert!(matches!(
                    answer,
                    Ok(_) | Err(crate::Error::WrongState | crate::Error::Failed(_))
                ));
                let _ = sender.send(());
            });
            let redrive = Resend { latest: true, ..Resend::default() };
            Message::Redrive { id: id(n), redrive, reply }
        });
    }
    storm.run();
    let all = storm.of("f");
    assert_eq!(all.len(), 2 * letters);
    for n in 0..letters {
        let again: Vec<_> = all.iter().filter(|one| one.redriven_from == Some(id(n))).collect();
        assert_eq!(again.len(), 1, "each is sent back exactly once");
        assert_eq!(again[0].state, State::Succeeded);
        assert_eq!(storm.harness.invocation(id(n)).redriven_as, Some(again[0].id));
        storm.check_lines(again[0]);
    }
    assert_eq!(storm.harness.all(&Filter { dead: true, ..Filter::default() }), []);
}

#[test]
fn letters_are_sent_back_exactly_once() {
    storms(200, |seed| redriven(seed, 5));
}

#[test]
fn a_thousand_letters_are_sent_back_exactly_once() {
    redriven(1, 1000);
}
