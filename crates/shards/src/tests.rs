//! Engines on threads: messages reach their shards, and a shard that breaks breaks no promise.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};

use everstep_store::MemoryStore;

use crate::{
    Error, Failure, Id, Lanes, Mailbox, Message, Outside, Refused, Settings, Shard, SystemClock,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Number([u8; 16]);

impl Number {
    pub(crate) fn of(number: u8) -> Self {
        Self([number; 16])
    }
}

impl Id for Number {
    fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

type Answer = Result<u16, Refused>;

/// For a shard; answered with the shard that took it, or why none did. Kept if `kept`.
struct Question {
    shard: u16,
    kept: bool,
    answer: Sender<Answer>,
}

impl Message for Question {
    fn shard(&self, shards: u16) -> u16 {
        self.shard % shards
    }

    fn refuse(self, refused: Refused) {
        let _ = self.answer.send(Err(refused));
    }
}

/// Where a shard panics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Panics {
    Never,
    InOpen,
    InHandle,
    InTick,
}

struct Numbered {
    number: u16,
    panics: Panics,
    kept: Vec<Question>,
}

impl Shard for Numbered {
    type Message = Question;

    fn handle(&mut self, message: Question, _now_ms: i64) {
        assert!(self.panics != Panics::InHandle, "no more questions");
        if message.kept {
            self.kept.push(message);
            // The next turn comes at once.
        } else {
            let _ = message.answer.send(Ok(self.number));
        }
    }

    fn tick(&mut self, _now_ms: i64) -> Option<i64> {
        let tired = self.panics == Panics::InTick && !self.kept.is_empty();
        assert!(!tired, "no more time");
        None
    }
}

#[derive(Default)]
struct Witness {
    failure: Failure,
    calls: AtomicUsize,
    error: Mutex<Option<Error>>,
}

impl Outside for Witness {
    fn latch(&self) -> &Failure {
        &self.failure
    }

    fn failed(&self, error: &Error) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        *self.error.lock().expect("no thread panics with it") = Some(error.clone());
    }
}

struct Engine {
    lanes: Lanes<Question>,
    witness: Arc<Witness>,
}

impl Engine {
    fn new(workers: usize) -> Self {
        let settings = Settings { workers, queue_max: 3, ..Settings::default() };
        let lanes = Lanes::new(7, Arc::new(SystemClock), &settings);
        let failure = lanes.failure().clone();
        Self { lanes, witness: Arc::new(Witness { failure, ..Witness::default() }) }
    }

    fn start(&self, broken: u16, panics: Panics) -> Result<(), Refused> {
        let open = move |number, _| {
            let panics = if number == broken { panics } else { Panics::Never };
            assert!(panics != Panics::InOpen, "shard {number} is closed");
            Ok(Numbered { number, panics, kept: Vec::new() })
        };
        self.lanes.start("test", &self.witness, open)
    }

    fn question(&self, shard: u16, kept: bool) -> Receiver<Answer> {
        let (answer, receiver) = mpsc::channel();
        self.lanes.send(Question { shard, kept, answer });
        receiver
    }

    fn ask(&self, shard: u16) -> Answer {
        self.question(shard, false).recv().expect("every message is answered")
    }

    fn stop(&self) {
        self.lanes.shut_down(&MemoryStore::new(7));
    }
}

#[test]
fn messages_reach_the_shard_they_are_for() {
    for workers in [1, 2, 3, 7, 20] {
        let engine = Engine::new(workers);
        engine.start(0, Panics::Never).expect("all open");
        for number in 0..21 {
            assert_eq!(engine.ask(number), Ok(number % 7), "{workers} threads");
        }
        engine.stop();
    }
}

#[test]
fn what_cannot_be_taken_is_refused() {
    let engine = Engine::new(1);
    let waiting = [(); 3].map(|()| engine.question(1, false));
    assert_eq!(engine.ask(1), Err(Refused::Busy));
    engine.start(0, Panics::Never).expect("all open");
    for waited in waiting {
        assert_eq!(waited.recv(), Ok(Ok(1)), "it waited for the threads");
    }
    engine.stop();
    for _ in 0..10 {
        assert_eq!(engine.ask(1), Err(Refused::Stopped));
    }
    let (answer, receiver) = mpsc::channel();
    engine.lanes.post(Question { shard: 1, kept: false, answer });
    assert_eq!(receiver.recv(), Ok(Err(Refused::Stopped)));
}

#[test]
fn lanes_that_never_start_refuse_when_they_stop() {
    let engine = Engine::new(2);
    let waiting = engine.question(1, false);
    engine.stop();
    assert_eq!(waiting.recv(), Ok(Err(Refused::Stopped)));
    assert_eq!(engine.start(0, Panics::Never), Err(Refused::Stopped));
}

#[test]
fn a_shard_that_cannot_be_opened_is_an_error() {
    let engine = Engine::new(2);
    let open = |number, _| match number {
        4 => Err(Refused::Failed(Error::damaged("4 is broken"))),
        number => Ok(Numbered { number, panics: Panics::Never, kept: Vec::new() }),
    };
    assert_eq!(
        engine.lanes.start("test", &engine.witness, open),
        Err(Refused::Failed(Error::damaged("4 is broken")))
    );
    assert_eq!(engine.ask(4), Err(Refused::Stopped));
    assert_eq!(engine.start(0, Panics::Never), Err(Refused::Stopped), "only once");
    engine.stop();
}

/// The failure is known, said once, and the answer to every message to the thread that is gone, however
/// many come.
fn check_failed(engine: &Engine, message: &str) {
    let failure = Error::Panicked { shard: 5, message: message.into() };
    for _ in 0..10 {
        assert_eq!(engine.ask(5), Err(Refused::Failed(failure.clone())));
        assert_eq!(engine.ask(3), Err(Refused::Failed(failure.clone())), "of the same thread");
    }
    assert_eq!(engine.lanes.failure().get(), Some(&failure));
    assert_eq!(engine.witness.calls.load(Ordering::Relaxed), 1);
    let witnessed = engine.witness.error.lock().expect("no thread panics with it").clone();
    assert_eq!(witnessed, Some(failure));
    assert_eq!(engine.ask(2), Ok(2), "another thread still takes messages");
    engine.stop();
    assert_eq!(engine.ask(5), Err(Refused::Stopped));
    assert_eq!(Arc::strong_count(&engine.witness), 1, "nothing is left of the threads");
}

#[test]
fn a_panic_in_open_fails_the_engine() {
    let engine = Engine::new(2);
    let waiting = engine.question(5, false);
    let message = "shard 5 is closed";
    let failure = Error::Panicked { shard: 5, message: message.into() };
    assert_eq!(engine.start(5, Panics::InOpen), Err(Refused::Failed(failure.clone())));
    assert_eq!(waiting.recv(), Ok(Err(Refused::Failed(failure))));
    check_failed(&engine, message);
}

#[test]
fn a_panic_in_handle_fails_the_engine() {
    let engine = Engine::new(2);
    engine.start(5, Panics::InHandle).expect("all open");
    let kept = engine.question(3, true);
    assert_eq!(engine.ask(3), Ok(3));
    assert!(engine.question(5, false).recv().is_err(), "lost with its thread, and not held");
    check_failed(&engine, "no more questions");
    assert!(kept.recv().is_err(), "lost with its thread, and not held");
}

#[test]
fn a_panic_in_tick_fails_the_engine() {
    let engine = Engine::new(2);
    engine.start(5, Panics::InTick).expect("all open");
    let kept = engine.question(5, true);
    assert!(kept.recv().is_err(), "lost with its thread, and not held");
    check_failed(&engine, "no more time");
}
