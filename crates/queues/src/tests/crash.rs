//! Whenever the engine dies, and whatever of its last commits has survived: nothing that was acknowledged is lost, no
//! move happens twice, no count is reset.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use everstep_store::{Behaviour, CrashingStore};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::harness::{Harness, fifo_content, locked, redrive};
use crate::content::Content;
use crate::id::MessageId;
use crate::receipt::Receipt;
use crate::request::{Receive, Received, Request, Sending};
use crate::settings::Settings;

const SHARDS: u16 = 3;
const RECEIVES_MAX: u32 = 3;

/// What consumers and senders were told.
#[derive(Default)]
struct Witness {
    /// Acknowledged, by body.
    sent: BTreeSet<String>,
    /// Messages that consumers hold.
    held: Vec<(String, Received)>,
    /// To be deleted: that may be durable even if the consumer was not answered.
    asked: BTreeSet<String>,
    deleted: BTreeSet<String>,
    /// How often each message was received from each queue.
    receives: BTreeMap<(String, MessageId), u32>,
}

struct Storm {
    disk: Arc<CrashingStore>,
    harness: Harness,
    chance: Pcg64Mcg,
    witness: Arc<Mutex<Witness>>,
    crashes: usize,
    number: usize,
    /// Requests that are open, with whether they were answered.
    life: Arc<Mutex<u32>>,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let disk = Arc::new(CrashingStore::new(SHARDS, seed, Behaviour::default()));
        let shards = everstep_shards::Settings { deliveries_max: 2, ..Default::default() };
        let settings = Settings { shards, ready_max: 4, fifo_ready_max: 8, ..Settings::default() };
        let harness = Harness::on(disk.clone(), settings);
        let chance = Pcg64Mcg::seed_from_u64(seed);
        let mut storm = Self {
            disk,
            harness,
            chance,
            witness: Arc::default(),
            crashes: 0,
            number: 0,
            life: Arc::default(),
        };
        storm.create();
        storm
    }

    fn create(&mut self) {
        for (name, dead) in
            [("q", "dead"), ("q.fifo", "dead.fifo"), ("dead", ""), ("dead.fifo", "")]
        {
            let mut attributes = crate::Attributes::of(name);
            attributes.redrive = redrive(dead, RECEIVES_MAX).filter(|_| !dead.is_empty());
            let creation = Box::new(super::harness::creation(name, attributes));
            self.harness.handle(Request::Create { creation, reply: Box::new(|_| {}) });
        }
        self.disk.settle(usize::MAX);
    }

    fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.chance.next_u64() % n.max(1) as u64).expect("it fits")
    }

    fn queue(&mut self) -> &'static str {
        ["q", "q.fifo"][self.below(2)]
    }

    fn send(&mut self) {
        let queue = self.queue();
        self.number += 1;
        let body = format!("{}", self.number);
        let content = match queue {
            "q" => Content::text(body.clone()),
            _ => fifo_content(&format!("g{}", self.below(3)), &body, &body),
        };
        let id = MessageId::drawn([self.chance.next_u64(), self.chance.next_u64()]);
        let delay_ms = (queue == "q" && self.below(4) == 0).then_some(2000);
        let sendings = vec![Sending { id, content, delay_ms, key: None }];
        let witness = self.witness.clone();
        let reply = Box::new(move |sent: crate::Result<Vec<crate::Result<_>>>| {
            if sent.is_ok_and(|sent| sent[0].is_ok()) {
                locked(&witness).sent.insert(body);
            }
        });
        self.harness.handle(Request::Send { queue: queue.to_owned(), sendings, reply });
    }

    fn receive(&mut self, queue: &str) {
        let max = 1 + self.below(4);
        let receive = Receive { max, wait_ms: Some(0), ..Receive::default() };
        let (witness, name) = (self.witness.clone(), queue.to_owned());
        let (life, born) = (self.life.clone(), *locked(&self.life));
        let reply = Box::new(move |received: crate::Result<Vec<Received>>| {
            if *locked(&life) != born {
                return;
            }
            for one in received.unwrap_or_default() {
                let mut witness = locked(&witness);
                let body = one.message.content.body.clone();
                assert!(!witness.deleted.contains(&body), "{body} was deleted");
                let count = witness.receives.entry((name.clone(), one.message.id)).or_default();
                *count += 1;
                let most = *count;
                if !name.starts_with("dead") {
                    assert!(one.receives >= most, "{body}: the count was reset");
                    assert!(one.receives <= RECEIVES_MAX, "{body} was received too often");
                }
                witness.held.push((name.clone(), one));
            }
        });
        self.harness.handle(Request::Receive { queue: queue.to_owned(), receive, reply });
    }

    /// A consumer deletes one of the messages that it holds.
    fn delete(&mut self) {
        let count = locked(&self.witness).held.len();
        if count == 0 {
            return;
        }
        let which = self.below(count);
        let (queue, held) = locked(&self.witness).held.swap_remove(which);
        if self.below(3) == 0 {
            return;
        }
        let receipts: Vec<Receipt> = vec![held.receipt];
        let (witness, body) = (self.witness.clone(), held.message.content.body.clone());
        locked(&witness).asked.insert(body.clone());
        let until_ms = held.hidden_until_ms;
        let in_time = self.harness.now_ms < until_ms;
        let reply = Box::new(move |removed: crate::Result<Vec<crate::Result<()>>>| {
            if in_time && removed.is_ok_and(|removed| removed[0].is_ok()) {
                locked(&witness).deleted.insert(body);
            }
        });
        self.harness.handle(Request::Remove { queue, receipts, reply });
    }

    fn crash(&mut self) {
        self.crashes += 1;
        *locked(&self.life) += 1;
        self.disk.crash();
        locked(&self.witness).held.clear();
        self.harness.open();
    }

    fn step(&mut self) {
        match self.below(12) {
            0 | 1 => self.send(),
            2 | 3 => {
                let queue = self.queue();
                self.receive(queue);
            }
            4 => self.delete(),
            5..8 => self.disk.settle(1),
            8 => drop(self.harness.handle_one()),
            9 => drop(self.harness.tick()),
            10 if self.below(8) == 0 => self.crash(),
            10 => self.harness.now_ms += 500,
            _ if self.below(10) == 0 => self.harness.now_ms += 30_000,
            _ => drop(self.harness.handle_one()),
        }
    }

    /// No more faults: everything becomes durable and all messages are received.
    fn calm(&mut self) {
        for _ in 0..2000 {
            self.disk.settle(usize::MAX);
            while self.harness.handle_one() {
                self.disk.settle(usize::MAX);
            }
            self.harness.tick();
            self.harness.now_ms += 100;
        }
    }

    /// Every message that was acknowledged and not deleted is in one of the queues, once.
    fn check(&mut self, seed: u64) {
        let mut found: Vec<String> = Vec::new();
        for queue in ["q", "q.fifo", "dead", "dead.fifo"] {
            let peeked = crate::reader::peek(&*self.disk, queue, 10_000).expect("readable");
            let counts = self.harness.standing_later(queue, &self.disk);
            assert_eq!(counts as usize, peeked.len(), "seed {seed}: the counts of {queue}");
            for peeked in &peeked {
                let due = peeked.hidden_until_ms.is_some_and(|at_ms| at_ms < self.harness.now_ms);
                assert!(!due, "seed {seed}: {peeked:?} is still hidden");
            }
            found.extend(peeked.into_iter().map(|peeked| peeked.message.content.body));
        }
        let all: BTreeSet<String> = found.iter().cloned().collect();
        assert_eq!(all.len(), found.len(), "seed {seed}: a message is there twice: {found:?}");
        let witness = locked(&self.witness);
        for body in witness.sent.difference(&witness.asked) {
            assert!(all.contains(body), "seed {seed}: {body} was lost");
        }
        for body in &witness.deleted {
            assert!(!all.contains(body), "seed {seed}: {body} was deleted and is there");
        }
    }
}

impl Harness {
    /// How many messages a queue has.
    fn standing_later(&mut self, queue: &str, disk: &CrashingStore) -> u64 {
        let answer = self.ask(|reply| Request::Stand { queue: queue.to_owned(), reply });
        disk.settle(usize::MAX);
        let standing = answer.try_recv().expect("an answer").expect("it is there");
        standing.ready + standing.delayed + standing.in_flight
    }
}

#[test]
fn nothing_is_lost_and_nothing_is_there_twice() {
    for seed in 0..200 {
        let mut storm = Storm::new(seed);
        for _ in 0..600 {
            storm.step();
        }
        storm.calm();
        storm.check(seed);
        storm.crash();
        storm.calm();
        storm.check(seed);
        assert_eq!(storm.disk.unexpected(), [], "seed {seed}");
    }
}
