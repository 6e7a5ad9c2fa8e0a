//! The threads that do what takes long.
//!
//! They yield to the threads of the shards, and half of them never take what is known to be slow: so a definition
//! whose expressions take seconds delays others like it, and nobody else.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::id::ExecutionId;
use crate::work::{Pool, Work};

/// How much processor time others have before these threads.
const NICE: i32 = 10;
const THREADS_MIN: usize = 8;
/// How long a pool that stops waits for what it has begun.
const STOP_MAX: Duration = Duration::from_secs(5);

pub(crate) struct Threads {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    queues: Mutex<Queues>,
    changed: Condvar,
}

#[derive(Default)]
struct Queues {
    quick: VecDeque<Work>,
    slow: VecDeque<Work>,
    /// What may have ended the engine before: one at a time.
    suspects: VecDeque<Work>,
    is_suspect_running: bool,
    running: Vec<(ExecutionId, Arc<AtomicBool>)>,
    is_stopping: bool,
    is_stopped: bool,
}

impl Threads {
    pub(crate) fn start() -> std::io::Result<Self> {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let pool = Self { shared: Arc::default(), threads: Mutex::default() };
        for index in 0..THREADS_MIN.max(processors * 2) {
            let shared = pool.shared.clone();
            let takes_slow = index % 2 == 0;
            let thread = thread::Builder::new()
                .name(format!("decisions-{index}"))
                .spawn(move || shared.work(takes_slow))?;
            lock(&pool.threads).push(thread);
        }
        Ok(pool)
    }

    /// Drops what would come again after a start; lets everything else have a short turn, as long as that does not
    /// take too long.
    pub(crate) fn stop(&self) {
        let deadline = Instant::now() + STOP_MAX;
        let mut queues = self.shared.queues();
        queues.is_stopping = true;
        let repeated = queues.take_repeated();
        queues.interrupt_all();
        while !queues.is_idle() && Instant::now() < deadline {
            let wait = deadline.saturating_duration_since(Instant::now());
            let waited = self.shared.changed.wait_timeout(queues, wait);
            queues = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        queues.is_stopped = true;
        let waiting: Vec<Work> = queues.take_all();
        drop(queues);
        drop((waiting, repeated));
        self.shared.changed.notify_all();
        for thread in std::mem::take(&mut *lock(&self.threads)) {
            let _ = thread.join();
        }
    }
}

impl Pool for Threads {
    fn run(&self, work: Work) {
        let mut queues = self.shared.queues();
        if queues.is_stopped || queues.is_stopping && work.comes_again() {
            drop(queues);
            return drop(work);
        }
        if queues.is_stopping {
            work.interruption().store(true, Ordering::Relaxed);
        }
        if work.is_suspect() {
            queues.suspects.push_back(work);
        } else if work.is_slow() {
            queues.slow.push_back(work);
        } else {
            queues.quick.push_back(work);
        }
        drop(queues);
        // Not every thread takes everything.
        self.shared.changed.notify_all();
    }

    fn hurry(&self, execution: ExecutionId) {
        let mut queues = self.shared.queues();
        for (running, interrupted) in &queues.running {
            if *running == execution {
                interrupted.store(true, Ordering::Relaxed);
            }
        }
        let Queues { quick, slow, suspects, .. } = &mut *queues;
        for queue in [quick, slow, suspects] {
            if let Some(at) = queue.iter().position(|work| work.execution() == execution)
                && let Some(work) = queue.remove(at)
            {
                work.interruption().store(true, Ordering::Relaxed);
                queue.push_front(work);
            }
        }
    }
}

impl Queues {
    fn take_repeated(&mut self) -> Vec<Work> {
        let all = self.take_all();
        let (repeated, news): (Vec<_>, Vec<_>) = all.into_iter().partition(Work::comes_again);
        let (suspects, others): (Vec<_>, Vec<_>) = news.into_iter().partition(Work::is_suspect);
        self.quick.extend(others);
        self.suspects.extend(suspects);
        repeated
    }

    fn interrupt_all(&self) {
        let waiting = self.quick.iter().chain(&self.slow).chain(&self.suspects);
        let waiting = waiting.map(Work::interruption);
        let running = self.running.iter().map(|(_, interrupted)| interrupted.clone());
        waiting.chain(running).for_each(|interrupted| interrupted.store(true, Ordering::Relaxed));
    }

    fn is_idle(&self) -> bool {
        let mut queues = [&self.quick, &self.slow, &self.suspects].into_iter();
        queues.all(VecDeque::is_empty) && self.running.is_empty()
    }

    fn take_all(&mut self) -> Vec<Work> {
        let waiting = self.quick.drain(..).chain(self.slow.drain(..));
        waiting.chain(self.suspects.drain(..)).collect()
    }

    fn next(&mut self, takes_slow: bool) -> Option<Work> {
        let may_take = takes_slow && !self.is_suspect_running;
        let suspect = if may_take { self.suspects.pop_front() } else { None };
        let slow = || if takes_slow { self.slow.pop_front() } else { None };
        let work = suspect.or_else(slow).or_else(|| self.quick.pop_front())?;
        self.is_suspect_running |= work.is_suspect();
        self.running.push((work.execution(), work.interruption()));
        Some(work)
    }
}

impl Shared {
    fn queues(&self) -> MutexGuard<'_, Queues> {
        lock(&self.queues)
    }

    fn work(&self, takes_slow: bool) {
        // Where that is not allowed, they compete as equals.
        let _ = rustix::process::nice(NICE);
        while let Some(work) = self.next(takes_slow) {
            let (execution, is_suspect) = (work.execution(), work.is_suspect());
            work.run();
            let mut queues = self.queues();
            queues.running.retain(|(running, _)| *running != execution);
            queues.is_suspect_running &= !is_suspect;
            if queues.is_stopping || is_suspect {
                self.changed.notify_all();
            }
        }
    }

    /// Waits for work; nothing when the pool has stopped.
    fn next(&self, takes_slow: bool) -> Option<Work> {
        let mut queues = self.queues();
        loop {
            if queues.is_stopped {
                return None;
            }
            if let Some(work) = queues.next(takes_slow) {
                return Some(work);
            }
            queues = self.changed.wait(queues).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
