//! Threads that own shards, and the ways to reach them.
//!
//! A shard has one owner, which takes its messages one at a time and lets time pass in between; a thread
//! owns several shards. What shards do is not known here, nor how they are stored.

mod clock;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub use clock::{Clock, SystemClock};

/// Messages that a thread takes before it looks at the time again.
const TAKEN_AT_A_TIME: usize = 256;
/// A thread looks at the time at least this often: clocks are set.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a thread owns.
pub trait Shard {
    type Message: Message;

    /// Takes a message. Must not wait.
    fn handle(&mut self, message: Self::Message, now_ms: i64);

    /// Lets time pass; when there is more to do, if that is known.
    fn tick(&mut self, now_ms: i64) -> Option<i64>;
}

pub trait Message: Send + 'static {
    /// The shard it is for, of so many.
    fn shard(&self, shards: u16) -> u16;

    /// Answers whoever asked that it cannot be done.
    fn refuse(self, refused: Refused);
}

/// Why a message was not taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Too many wait already.
    Busy,
    /// The threads have been stopped.
    Stopped,
}

/// The ways to the shards.
pub struct Lanes<M> {
    shards: u16,
    lanes: Vec<Lane<M>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Lane<M> {
    sender: Sender<Envelope<M>>,
    /// Until its thread takes it.
    receiver: Mutex<Option<Receiver<Envelope<M>>>>,
    waiting: Arc<AtomicUsize>,
}

enum Envelope<M> {
    Message(M),
    Stop,
}

impl<M: Message> Lanes<M> {
    /// Lanes to so many shards, with a thread for each core if `workers` is 0. What is sent before the
    /// threads are started waits for them.
    #[must_use]
    pub fn new(shards: u16, workers: usize) -> Self {
        let wanted = match workers {
            0 => thread::available_parallelism().map_or(1, usize::from),
            set => set,
        };
        let lanes = (0..wanted.clamp(1, usize::from(shards))).map(|_| Lane::new()).collect();
        Self { shards, lanes, threads: Mutex::default() }
    }

    /// Starts the threads, which open their shards; returns when all have. `name` is what threads are
    /// called, with a number.
    pub fn start<S, E>(
        &self,
        name: &str,
        clock: &Arc<dyn Clock>,
        open: impl Fn(u16, i64) -> Result<S, E> + Clone + Send + 'static,
        broken: impl Fn(&str) -> E,
    ) -> Result<(), E>
    where
        S: Shard<Message = M> + 'static,
        E: Send + 'static,
    {
        let (ready, opened) = mpsc::channel();
        for (index, lane) in self.lanes.iter().enumerate() {
            let receiver = lane.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(receiver) = receiver else { return Err(broken("already started or stopped")) };
            let (workers, shards) = (self.lanes.len(), self.shards);
            let numbers = (0..shards).filter(move |n| usize::from(*n) % workers == index);
            let (clock, waiting) = (clock.clone(), lane.waiting.clone());
            let (open, ready) = (open.clone(), ready.clone());
            let work = move || {
                let owned: Result<Vec<S>, E> =
                    numbers.map(|number| open(number, clock.now_ms())).collect();
                match owned {
                    Ok(owned) => {
                        let _ = ready.send(Ok(()));
                        drop(ready);
                        Worker { owned, shards, workers, receiver, waiting, clock }.run();
                    }
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        refuse_the_rest(&receiver);
                    }
                }
            };
            let thread = thread::Builder::new().name(format!("{name}-{index}")).spawn(work);
            let thread =
                thread.map_err(|error| broken(&format!("a thread cannot be started: {error}")))?;
            self.threads().push(thread);
        }
        drop(ready);
        for _ in &self.lanes {
            opened.recv().unwrap_or_else(|_| Err(broken("a thread ended before it began")))?;
        }
        Ok(())
    }

    /// Sends a message. Refused if `waiting_max` wait already. Never waits.
    pub fn send(&self, message: M, waiting_max: usize) {
        let lane = self.lane(&message);
        if lane.waiting.load(Ordering::Relaxed) >= waiting_max {
            message.refuse(Refused::Busy);
        } else {
            lane.send(message);
        }
    }

    /// For what shards say to each other and to themselves: never refused, for it is bounded by what they
    /// have taken on.
    pub fn post(&self, message: M) {
        self.lane(&message).send(message);
    }

    /// Stops taking messages, and waits until the threads have ended. Lanes that were never started refuse
    /// what waits for them.
    pub fn stop(&self) {
        for lane in &self.lanes {
            let _ = lane.sender.send(Envelope::Stop);
            let unused = lane.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
            unused.iter().for_each(refuse_the_rest);
        }
        let threads = std::mem::take(&mut *self.threads());
        for thread in threads {
            let _ = thread.join();
        }
    }

    fn lane(&self, message: &M) -> &Lane<M> {
        &self.lanes[usize::from(message.shard(self.shards)) % self.lanes.len()]
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: Message> Lane<M> {
    fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        Self { sender, receiver: Mutex::new(Some(receiver)), waiting: Arc::default() }
    }

    fn send(&self, message: M) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        if let Err(mpsc::SendError(Envelope::Message(message))) =
            self.sender.send(Envelope::Message(message))
        {
            message.refuse(Refused::Stopped);
        }
    }
}

/// A number that the next process does not have.
#[must_use]
pub fn entropy() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// A thread and its shards: those whose number leaves its own when divided by the number of threads.
struct Worker<S: Shard> {
    owned: Vec<S>,
    shards: u16,
    workers: usize,
    receiver: Receiver<Envelope<S::Message>>,
    waiting: Arc<AtomicUsize>,
    clock: Arc<dyn Clock>,
}

impl<S: Shard> Worker<S> {
    fn run(mut self) {
        loop {
            let wait = self.tick();
            let mut next = match self.receiver.recv_timeout(wait) {
                Ok(envelope) => Some(envelope),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut taken = 0;
            while let Some(envelope) = next.take() {
                match envelope {
                    Envelope::Stop => return refuse_the_rest(&self.receiver),
                    // A message may have come after the one before it was answered: it has its own time.
                    Envelope::Message(message) => self.handle(message),
                }
                taken += 1;
                if taken < TAKEN_AT_A_TIME {
                    next = self.receiver.try_recv().ok();
                }
            }
        }
    }

    fn handle(&mut self, message: S::Message) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        let index = usize::from(message.shard(self.shards)) / self.workers;
        self.owned[index].handle(message, self.clock.now_ms());
    }

    /// Lets time pass in each shard; how long until there is more to do.
    fn tick(&mut self) -> Duration {
        let now_ms = self.clock.now_ms();
        let mut wait = LOOK_EVERY;
        for shard in &mut self.owned {
            if let Some(next) = shard.tick(now_ms) {
                let until = u64::try_from(next.saturating_sub(now_ms)).unwrap_or(0);
                wait = wait.min(Duration::from_millis(until));
            }
        }
        wait
    }
}

fn refuse_the_rest<M: Message>(receiver: &Receiver<Envelope<M>>) {
    while let Ok(envelope) = receiver.try_recv() {
        if let Envelope::Message(message) = envelope {
            message.refuse(Refused::Stopped);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a shard; answered with the shard that took it, or why none did.
    struct Question(u16, Sender<Result<u16, Refused>>);

    impl Message for Question {
        fn shard(&self, shards: u16) -> u16 {
            self.0 % shards
        }

        fn refuse(self, refused: Refused) {
            let _ = self.1.send(Err(refused));
        }
    }

    struct Numbered(u16);

    impl Shard for Numbered {
        type Message = Question;

        fn handle(&mut self, message: Question, _now_ms: i64) {
            let _ = message.1.send(Ok(self.0));
        }

        fn tick(&mut self, _now_ms: i64) -> Option<i64> {
            None
        }
    }

    fn lanes(workers: usize) -> Lanes<Question> {
        Lanes::new(7, workers)
    }

    fn start(lanes: &Lanes<Question>, broken: u16) -> Result<(), String> {
        let open = move |number, _| {
            if number == broken { Err(format!("{number} is broken")) } else { Ok(Numbered(number)) }
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        lanes.start("test", &clock, open, str::to_owned)
    }

    #[test]
    fn messages_reach_the_shard_they_are_for() {
        for workers in [1, 2, 3, 7, 20] {
            let lanes = lanes(workers);
            start(&lanes, 99).expect("all open");
            for number in 0..21 {
                let (sender, receiver) = mpsc::channel();
                lanes.send(Question(number, sender), 1000);
                assert_eq!(receiver.recv(), Ok(Ok(number % 7)), "{workers} threads");
            }
            lanes.stop();
        }
    }

    #[test]
    fn what_cannot_be_taken_is_refused() {
        let lanes = lanes(1);
        let (sender, receiver) = mpsc::channel();
        lanes.send(Question(1, sender.clone()), 1);
        lanes.send(Question(1, sender.clone()), 1);
        assert_eq!(receiver.recv(), Ok(Err(Refused::Busy)), "one waits already");
        start(&lanes, 99).expect("all open");
        assert_eq!(receiver.recv(), Ok(Ok(1)), "it waited for the threads");
        lanes.stop();
        lanes.post(Question(1, sender));
        assert_eq!(receiver.recv(), Ok(Err(Refused::Stopped)));
    }

    #[test]
    fn a_shard_that_does_not_open_is_told() {
        let lanes = lanes(2);
        assert_eq!(start(&lanes, 4), Err("4 is broken".to_owned()));
        lanes.stop();
        assert_eq!(start(&lanes, 99), Err("already started or stopped".to_owned()));
    }

    #[test]
    fn lanes_that_never_start_refuse_when_they_stop() {
        let lanes = lanes(2);
        let (sender, receiver) = mpsc::channel();
        lanes.send(Question(1, sender), 10);
        lanes.stop();
        assert_eq!(receiver.recv(), Ok(Err(Refused::Stopped)));
        assert_eq!(start(&lanes, 99), Err("already started or stopped".to_owned()));
    }
}
