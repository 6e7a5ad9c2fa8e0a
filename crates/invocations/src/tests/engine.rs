//! The way in, with its threads.

use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::harness::{Harness, fails, fixed, holds, locked, settings};
use crate::{Error, Filter, Invocations, Redrive, Request, Source, SourceKind};

fn request(function: &str, payload: &str, key: Option<&str>) -> Request {
    Request {
        function: function.to_owned(),
        payload: payload.as_bytes().to_vec(),
        source: Source::new(SourceKind::Invoke, function),
        key: key.map(str::to_owned),
        unparseable: false,
    }
}

/// Invocations on threads, and a worker that answers at once.
struct Running {
    harness: Harness,
    invocations: Arc<Invocations>,
}

impl Running {
    fn new() -> Self {
        let mut harness = Harness::new();
        harness.shards.clear();
        let invocations = Arc::new(Invocations::open(harness.parts()).expect("it opens"));
        Self { harness, invocations }
    }

    /// Waits for an answer, and does the work of workers and destinations meanwhile.
    fn answer<T>(&self, receiver: &mpsc::Receiver<T>) -> T {
        loop {
            while self.harness.script.take_one(0) {}
            self.harness.script.answer_all();
            self.harness.outside.answer_one();
            match receiver.recv_timeout(Duration::from_millis(1)) {
                Ok(answer) => return answer,
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => panic!("never answered"),
            }
        }
    }

    fn invoke(&self, request: Request) -> crate::Result<crate::Finished> {
        let (sender, receiver) = mpsc::channel();
        self.invocations.invoke(request, None, Box::new(move |answer| drop(sender.send(answer))));
        self.answer(&receiver)
    }

    fn accept(&self, request: Request) -> crate::Result<crate::Accepted> {
        let (sender, receiver) = mpsc::channel();
        self.invocations.accept(request, Box::new(move |answer| drop(sender.send(answer))));
        receiver.recv().expect("an answer")
    }

    fn wait(&self, id: crate::InvocationId) -> crate::Finished {
        let (sender, receiver) = mpsc::channel();
        self.invocations.wait(id, Box::new(move |answer| drop(sender.send(answer))));
        self.answer(&receiver).expect("finished")
    }
}

#[test]
fn a_call_without_a_key_leaves_no_rows() {
    let running = Running::new();
    running.harness.script.set("f", settings("f", fixed(3, 0)), fails(1));
    let finished = running.invoke(request("f", "{}", None)).expect("finished");
    assert_eq!(finished.state.name(), "Exhausted", "and never retried");
    assert_eq!(running.harness.all(&Filter::default()), []);
    assert_eq!(
        running.invoke(request("g", "{}", None)),
        Err(Error::NoSuchFunction("g".to_owned()))
    );
    let refused = running.invoke(request("f", "{", None));
    assert!(matches!(refused, Err(Error::NotJson(_))), "{refused:?}");
}

#[test]
fn a_call_without_a_key_does_not_wait_for_a_slot() {
    let running = Running::new();
    let mut one = settings("f", fixed(3, 0));
    one.concurrency = 1;
    running.harness.script.set("f", one, holds());
    let (sender, receiver) = mpsc::channel();
    for _ in 0..2 {
        let sender = sender.clone();
        let reply = Box::new(move |answer| drop(sender.send(answer)));
        running.invocations.invoke(request("f", "{}", None), None, reply);
    }
    // Which of them has the slot is not known.
    assert_eq!(running.answer(&receiver), Err(Error::Throttled));
}

#[test]
fn a_call_without_a_key_may_wait_for_its_turn() {
    let running = Running::new();
    let one =
        crate::FunctionSettings { concurrency: 1, throttles: false, ..settings("f", fixed(3, 0)) };
    running.harness.script.set("f", one.clone(), fails(0));
    let (sender, receiver) = mpsc::channel();
    for _ in 0..50 {
        let sender = sender.clone();
        let reply = Box::new(move |answer| drop(sender.send(answer)));
        running.invocations.invoke(request("f", "{}", None), None, reply);
    }
    for _ in 0..50 {
        let finished = running.answer(&receiver).expect("it has its turn");
        assert_eq!(finished.state, crate::State::Succeeded);
    }
    assert_eq!(running.harness.script.running_most.load(std::sync::atomic::Ordering::Relaxed), 1);
    running.harness.script.set("f", crate::FunctionSettings { concurrency: 0, ..one }, fails(0));
    assert_eq!(running.invoke(request("f", "{}", None)), Err(Error::Forbidden));
}

#[test]
fn a_call_with_a_key_has_no_client_context() {
    let running = Running::new();
    running.harness.script.set("f", settings("f", fixed(3, 0)), fails(0));
    let (sender, receiver) = mpsc::channel();
    let reply = Box::new(move |answer| drop(sender.send(answer)));
    let context = Some(serde_json::Map::new());
    running.invocations.invoke(request("f", "{}", Some("k")), context, reply);
    let answer: crate::Result<crate::Finished> = running.answer(&receiver);
    assert_eq!(answer, Err(Error::ContextWithKey));
    assert!(running.harness.starts("f").is_empty());
}

#[test]
fn calls_with_the_same_key_are_answered_alike() {
    let running = Running::new();
    running.harness.script.set("f", settings("f", fixed(3, 0)), fails(0));
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..100 {
            let (invocations, sender) = (running.invocations.clone(), sender.clone());
            scope.spawn(move || {
                let reply = Box::new(move |answer| drop(sender.send(answer)));
                invocations.invoke(request("f", "{}", Some("k")), None, reply);
            });
        }
    });
    let answers: Vec<_> = (0..100).map(|_| running.answer(&receiver)).collect();
    assert!(answers.iter().all(|answer| answer.is_ok() && *answer == answers[0]));
    assert_eq!(running.harness.starts("f").len(), 1);
}

#[test]
fn letters_are_sent_back_in_bulk() {
    let running = Running::new();
    running.harness.script.set("f", settings("f", fixed(0, 0)), fails(9));
    let ids: Vec<_> =
        (0..250).map(|_| running.accept(request("f", "{}", None)).expect("accepted").id).collect();
    ids.iter().for_each(|id| drop(running.wait(*id)));
    running.harness.script.set("f", settings("f", fixed(0, 0)), fails(0));
    let all = Filter::default();
    let dry = Redrive { dry_run: true, ..Redrive::default() };
    let found = running.invocations.redrive(&all, &dry).expect("listed");
    assert_eq!(found.len(), 250);
    let some = Redrive { limit: Some(30), ..Redrive::default() };
    assert_eq!(running.invocations.redrive(&all, &some).expect("redriven").len(), 30);
    let redriven = running.invocations.redrive(&all, &Redrive::default()).expect("redriven");
    assert_eq!(redriven.len(), 220);
    for (_, into) in redriven {
        assert_eq!(running.wait(into.expect("an invocation")).state.name(), "Succeeded");
    }
    assert_eq!(running.invocations.purge(&all, false, false), Ok(Vec::new()));
    let page = running.invocations.list(&all, None, 1000).expect("listed");
    assert_eq!(page.invocations.len(), 500);
}

#[test]
fn too_much_is_refused() {
    let mut harness = Harness::new();
    harness.shards.clear();
    harness.settings.backlog_max = 2;
    harness.settings.payload_bytes_max = 10;
    let mut one = settings("f", fixed(0, 0));
    one.concurrency = 1;
    harness.script.set("f", one, holds());
    let invocations = Arc::new(Invocations::open(harness.parts()).expect("it opens"));
    let running = Running { harness, invocations };
    for _ in 0..3 {
        running.accept(request("f", "{}", None)).expect("one runs, two wait");
    }
    assert_eq!(running.accept(request("f", "{}", None)), Err(Error::Busy));
    let large = running.accept(request("f", "\"0123456789\"", None));
    assert_eq!(large, Err(Error::TooLarge { bytes: 12, most: 10 }));
}

#[test]
fn a_stop_waits_for_what_runs_and_leaves_what_waits() {
    let running = Running::new();
    running.harness.script.set("f", settings("f", fixed(3, 3600)), fails(9));
    running.harness.script.set("g", settings("g", fixed(3, 0)), holds());
    let waits = running.accept(request("f", "{}", None)).expect("accepted").id;
    let runs = running.accept(request("g", "{}", None)).expect("accepted").id;
    while locked(&running.harness.script.running).len() < 2 {
        running.harness.script.take_one(0);
        thread::yield_now();
    }
    thread::scope(|scope| {
        scope.spawn(|| running.invocations.shut_down(Duration::from_secs(60)));
        running.harness.script.set("g", settings("g", fixed(3, 0)), fails(0));
        while !locked(&running.harness.script.running).is_empty() {
            running.harness.script.answer_all();
        }
    });
    assert_eq!(running.harness.stands(waits), ("Waiting", 1));
    assert_eq!(running.harness.stands(runs), ("Succeeded", 1));
    assert_eq!(running.accept(request("f", "{}", None)), Err(Error::Stopped));
}

#[test]
fn requests_wait_for_the_start_and_nothing_is_left_after_the_end() {
    let mut harness = Harness::new();
    harness.shards.clear();
    let crate::Parts { store, functions, destinations, observer, settings: own, .. } =
        harness.parts();
    harness.script.set("f", settings("f", fixed(0, 1)), fails(0));
    let invocations = Invocations::new(store, Arc::new(crate::SystemClock), own);
    let (sender, receiver) = mpsc::channel();
    let answer = sender.clone();
    let reply = Box::new(move |called: crate::Result<_>| {
        let _ = answer.send(called.is_ok());
    });
    invocations.invoke(request("f", "{}", None), None, reply);
    let reply = Box::new(move |accepted: crate::Result<_>| {
        let _ = sender.send(accepted.is_ok());
    });
    invocations.accept(request("f", "{}", None), reply);
    assert_eq!(receiver.try_recv(), Err(mpsc::TryRecvError::Empty));
    let left = (
        Arc::downgrade(&harness.script),
        Arc::downgrade(&harness.outside),
        Arc::downgrade(&harness.notes),
    );
    invocations.start(functions, destinations, observer).expect("it starts");
    let running = Running { harness, invocations: Arc::new(invocations) };
    assert!(running.answer(&receiver) && running.answer(&receiver));
    let Running { harness, invocations } = running;
    drop(harness);
    assert!(left.0.upgrade().is_some() && left.1.upgrade().is_some() && left.2.upgrade().is_some());
    invocations.shut_down(Duration::ZERO);
    assert!(left.0.upgrade().is_none() && left.1.upgrade().is_none() && left.2.upgrade().is_none());
}
