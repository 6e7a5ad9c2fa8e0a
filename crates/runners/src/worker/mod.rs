//! One process of a function, from its start to its end.

pub(crate) mod answer;
mod api;
mod event;
mod peer;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use hyper::body::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, sleep_until};

use self::answer::{Answer, accepted, refusal, too_large};
use self::api::{Api, ApiRequest, Listener, Received, Sent};
use crate::call::{Ended, Outcome, Outstanding, Receipt};
use crate::environment::{self, pair};
use crate::error::{Error, check_json};
use crate::observer::{Event, Tag};
use crate::pool::{Job, Pool, Work};
use crate::process::{Ending, Launch, Process, because};

/// How soon after an answer the next question is expected.
const SETTLING: Duration = Duration::from_millis(25);
/// How long a process that could not start may take to end.
const PARTING: Duration = Duration::from_secs(1);
/// How long what a process has sent before its end may take to be read.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs one process for as long as it lasts.
pub(crate) async fn run(pool: Arc<Pool>, id: u64) {
    let begun = Instant::now();
    let worker = match Worker::start(&pool, id, begun).await {
        Ok(worker) => worker,
        Err(error) => {
            let why = because("start a process", &error);
            pool.failed_to_start(begun, |request_id| {
                (Error::not_startable(request_id, &why), Vec::new())
            });
            return pool.left(id, true);
        }
    };
    worker.live().await;
}

struct Worker {
    pool: Arc<Pool>,
    id: u64,
    begun: Instant,
    state: State,
    process: Process,
    /// Gone once the process is.
    api: Option<Api>,
    requests: mpsc::Receiver<Received>,
    /// Why it is to end, if it is.
    ending: Option<End>,
    exited: Option<(Ending, Instant)>,
    served: u32,
    function_arn: String,
    closed: watch::Receiver<bool>,
}

enum State {
    /// It has not asked for work yet.
    Starting,
    /// It has asked, and there is none.
    Idle {
        next: oneshot::Sender<Answer>,
        offer: oneshot::Receiver<Job>,
        since: Instant,
    },
    /// It has asked, there is an event, and whoever sent it has to agree.
    Claiming {
        next: oneshot::Sender<Answer>,
        job: Box<Job>,
    },
    Busy {
        job: Box<Job>,
        deadline: Instant,
    },
    /// It has answered. `expected` until it is known to be slow; the clock stands while its receipt is
    /// out.
    Settling {
        since: Instant,
        deadline: Instant,
        expected: bool,
        receipt: Outstanding,
    },
}

/// Why a process is to end.
enum End {
    InitFailed {
        error: Box<Error>,
        since: Instant,
    },
    StartTimedOut,
    TimedOut,
    /// The caller of its call went away, or it is not needed.
    Dismissed,
}

/// All that can wake a worker.
enum Input {
    Request(Received),
    /// All its connections are closed.
    Disconnected,
    Exited(Ending),
    Alarm,
    Offered(Box<Job>),
    /// Whether the process may have the event.
    Granted(bool),
    /// The offer was taken back.
    Dismissed,
    /// The caller went away.
    Abandoned,
}

impl Worker {
    async fn start(pool: &Arc<Pool>, id: u64, begun: Instant) -> io::Result<Self> {
        let listener = Listener::bind().await?;
        let (function, shared) = (&pool.function, &pool.shared);
        let instance = format!("{:x}-{id}", std::process::id());
        let mut env = environment::of(function, &shared.account, &instance);
        env.push(pair("AWS_LAMBDA_RUNTIME_API", listener.address.to_string()));
        let launch = Launch {
            function: function.name.as_str().into(),
            program: shared.scripts.program(function),
            env,
            directory: function.code.clone(),
            memory_mib: function.memory_mib,
            call: None,
        };
        let process = shared.spawner.spawn(launch).await?;
        let (events, pid) = (shared.events.clone(), process.pid);
        let name = function.name.as_str().into();
        let (api, requests) = listener.serve(pid, move |stranger| {
            events.send(Event::Refused { function: name, pid, what: stranger.to_string() });
        });
        Ok(Self {
            pool: pool.clone(),
            id,
            begun,
            state: State::Starting,
            process,
            api: Some(api),
            requests,
            ending: None,
            exited: None,
            served: 0,
            function_arn: shared.account.function_arn(&function.name),
            closed: shared.closed.subscribe(),
        })
    }

    async fn live(mut self) {
        let mut disconnected = false;
        while !(disconnected && self.exited.is_some()) {
            let input = self.input(disconnected).await;
            match input {
                Input::Request(received) => self.handle(received),
                Input::Disconnected => disconnected = true,
                Input::Exited(ending) => self.exit(ending),
                Input::Alarm if self.exited.is_some() => break,
                Input::Alarm => self.alarm(),
                Input::Offered(job) => self.take(*job),
                Input::Granted(granted) => self.granted(granted),
                Input::Dismissed | Input::Abandoned => self.end(End::Dismissed),
            }
        }
        self.conclude().await;
    }

    /// Requests of the process come before its end.
    async fn input(&mut self, disconnected: bool) -> Input {
        let alarm = self.alarm_at();
        tokio::select! {
            biased;
            request = self.requests.recv(), if !disconnected => {
                request.map_or(Input::Disconnected, Input::Request)
            }
            ending = &mut self.process.exit, if self.exited.is_none() => {
                Input::Exited(ending.unwrap_or(Ending::LOST))
            }
            input = self.state.changed(), if self.exited.is_none() && self.ending.is_none() => input,
            _ = self.closed.wait_for(|closed| *closed), if self.ending.is_none() => Input::Dismissed,
            () = sleep_until(alarm) => Input::Alarm,
        }
    }

    fn alarm_at(&self) -> Instant {
        let function = &self.pool.function;
        let far = Instant::now() + Duration::from_secs(3600);
        match (&self.exited, &self.ending, &self.state) {
            (Some((_, at)), _, _) => *at + DRAIN,
            (None, Some(End::InitFailed { since, .. }), _) => *since + PARTING,
            (None, Some(_), _) => far,
            (None, None, State::Starting) => self.begun + self.start_time(),
            (None, None, State::Claiming { .. }) => far,
            (None, None, State::Idle { since, .. }) => {
                *since + Duration::from_millis(function.idle_ms_max)
            }
            (None, None, State::Busy { deadline, .. }) => *deadline,
            (None, None, State::Settling { since, deadline, expected, .. }) => {
                if *expected {
                    *since + SETTLING
                } else {
                    *deadline
                }
            }
        }
    }

    /// As long as a call, and no less than what the host allows.
    fn start_time(&self) -> Duration {
        let least_ms = self.pool.shared.options.start_ms_max;
        Duration::from_millis(self.pool.function.timeout_ms.max(least_ms))
    }

    fn alarm(&mut self) {
        match (&self.ending, &mut self.state) {
            (Some(_), _) => self.process.session.kill(),
            (None, State::Starting) => self.end(End::StartTimedOut),
            (None, State::Idle { since, .. }) if self.pool.keeps() => *since = Instant::now(),
            (None, State::Idle { .. }) => {
                // If it has just been given work, that is on its way.
                if self.pool.withdraw(self.id) {
                    self.end(End::Dismissed);
                }
            }
            (None, State::Claiming { .. }) => {}
            (None, State::Busy { .. }) => self.end(End::TimedOut),
            (None, State::Settling { since, deadline, receipt, .. })
                if receipt.strong_count() > 0 =>
            {
                *since = Instant::now();
                *deadline = (*deadline).max(*since + PARTING);
            }
            (None, State::Settling { expected, .. }) if *expected => {
                *expected = false;
                self.pool.give_up_on();
            }
            (None, State::Settling { .. }) => {
                self.misbehaved(
                    "did not ask for the next event before the deadline of its last one",
                );
                self.end(End::Dismissed);
            }
        }
    }

    fn end(&mut self, why: End) {
        self.ending = Some(why);
        self.process.session.kill();
    }

    fn handle(&mut self, received: Received) {
        let Received { request, reply } = received;
        match request {
            ApiRequest::Next => self.next(reply),
            ApiRequest::InitError { body, named } => {
                let answer = self.init_error(&body, named.as_deref());
                // The connection may be gone.
                let _ = reply.send(answer);
            }
            ApiRequest::Response { id, body } => self.answered(&id, reply, |job| match body {
                Sent::Whole(body) => finished(job, body),
                Sent::TooLarge => Err(Error::too_large().into()),
                Sent::Failed { named, body } => Err(Error::raised(&body, Some(&named)).into()),
            }),
            ApiRequest::Error { id, body, named } => {
                self.answered(&id, reply, |_| Err(Error::raised(&body, named.as_deref()).into()));
            }
        }
    }

    fn next(&mut self, reply: oneshot::Sender<Answer>) {
        if self.ending.is_some() || self.exited.is_some() {
            return;
        }
        match &mut self.state {
            State::Busy { .. } => {
                self.misbehaved("asked for the next event before it answered the last one");
                let _ = reply.send(refusal(
                    StatusCode::FORBIDDEN,
                    "InvalidStateTransition",
                    "the last event has not been answered",
                ));
            }
            // It has connected anew.
            State::Idle { next, .. } | State::Claiming { next, .. } => *next = reply,
            State::Starting => {
                self.pool.started();
                self.ask(true, reply);
            }
            State::Settling { expected, .. } => {
                let expected = *expected;
                self.ask(expected, reply);
            }
        }
    }

    fn ask(&mut self, expected: bool, next: oneshot::Sender<Answer>) {
        let (_, offer) = oneshot::channel();
        self.state = State::Idle { next, offer, since: Instant::now() };
        let worn = self.pool.function.invocations_max.is_some_and(|most| self.served >= most);
        if worn {
            if expected {
                self.pool.give_up_on();
            }
            return self.end(End::Dismissed);
        }
        match self.pool.ask(self.id, expected) {
            Work::Job(job) => self.take(*job),
            Work::Wait(work) => {
                if let State::Idle { offer, .. } = &mut self.state {
                    *offer = work;
                }
            }
            Work::Leave => self.end(End::Dismissed),
        }
    }

    fn take(&mut self, job: Job) {
        let State::Idle { next, .. } = std::mem::replace(&mut self.state, State::Starting) else {
            unreachable!("only a process that has asked is given work")
        };
        if job.claim.is_granted() {
            return self.hand_over(job, next);
        }
        self.state = State::Claiming { next, job: Box::new(job) };
    }

    fn granted(&mut self, granted: bool) {
        let State::Claiming { next, job } = std::mem::replace(&mut self.state, State::Starting)
        else {
            unreachable!("only a claim is granted")
        };
        if granted {
            return self.hand_over(*job, next);
        }
        job.end(Outcome::Cancelled);
        self.ask(false, next);
    }

    fn hand_over(&mut self, job: Job, next: oneshot::Sender<Answer>) {
        let timeout_ms = self.pool.function.timeout_ms;
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        let event = event::event(&job.call, &self.function_arn, timeout_ms);
        let tag = Tag { request_id: job.call.request_id.clone(), attempt: job.call.attempt };
        self.state = State::Busy { job: Box::new(job), deadline };
        self.process.output.begin(tag);
        self.served += 1;
        // A process that has died while it was idle is not the call's fault.
        if self.process.session.has_ended() || next.send(event).is_err() {
            self.unseen(deadline);
        }
    }

    /// The process was gone, or its connection, before the event was written.
    fn unseen(&mut self, deadline: Instant) {
        let (since, receipt) = (Instant::now(), Outstanding::new());
        let settling = State::Settling { since, deadline, expected: false, receipt };
        if let State::Busy { job, .. } = std::mem::replace(&mut self.state, settling) {
            self.pool.give_back(*job);
        }
    }

    /// Ends the call. The process gets its answer when the receipt is dropped.
    fn answered(
        &mut self,
        id: &str,
        reply: oneshot::Sender<Answer>,
        result: impl FnOnce(&Job) -> Result<Bytes, Box<Error>>,
    ) {
        let job = match self.call_ended(id) {
            Ok(job) => job,
            Err(refusal) => {
                let _ = reply.send(*refusal);
                return;
            }
        };
        let result = result(&job);
        let receipt = match &result {
            Err(error) if error.is_too_large() => {
                let _ = reply.send(too_large());
                Receipt::default()
            }
            _ => self.receipt(reply),
        };
        let outcome = match result {
            Ok(payload) => Outcome::Succeeded { payload },
            Err(error) => Outcome::Failed { error },
        };
        let log = self.process.output.tail();
        job.end(Ended { outcome, worker_pid: Some(self.process.pid), log, receipt });
    }

    fn receipt(&mut self, reply: oneshot::Sender<Answer>) -> Receipt {
        let (given, outstanding) = Receipt::new(reply);
        if let State::Settling { receipt, .. } = &mut self.state {
            *receipt = outstanding;
        }
        given
    }

    /// The call that the process had, if it is this one and not too late.
    fn call_ended(&mut self, id: &str) -> Result<Job, Box<Answer>> {
        let deadline = match &self.state {
            State::Busy { job, deadline } if job.call.request_id == id => *deadline,
            _ => return Err(self.unasked(id).into()),
        };
        if self.ending.is_some() {
            self.misbehaved(&format!("answered {id} after its deadline"));
            let text = "the deadline has passed";
            return Err(refusal(StatusCode::FORBIDDEN, "InvalidStateTransition", text).into());
        }
        let since = Instant::now();
        let settling = State::Settling {
            since,
            deadline: deadline.max(since + PARTING),
            expected: true,
            receipt: Outstanding::new(),
        };
        self.pool.expect();
        match std::mem::replace(&mut self.state, settling) {
            State::Busy { job, .. } => Ok(*job),
            _ => unreachable!("it was busy above"),
        }
    }

    fn unasked(&self, id: &str) -> Answer {
        self.misbehaved(&format!("answered {id}, which it was not given"));
        refusal(StatusCode::BAD_REQUEST, "InvalidRequestID", "this is not an event of this worker")
    }

    fn init_error(&mut self, body: &Bytes, named: Option<&str>) -> Answer {
        if !matches!(self.state, State::Starting) || self.ending.is_some() {
            self.misbehaved("reported a failed start after it had started");
            let text = "this worker has started";
            return refusal(StatusCode::FORBIDDEN, "InvalidStateTransition", text);
        }
        let mut error = Error::raised(body, named);
        error.class = everstep_retry::Class::Runtime;
        self.ending = Some(End::InitFailed { error: Box::new(error), since: Instant::now() });
        accepted()
    }

    fn exit(&mut self, ending: Ending) {
        self.exited = Some((ending, Instant::now()));
        // Once its connections are closed, too, nothing can come.
        self.api = None;
    }

    async fn conclude(mut self) {
        self.requests.close();
        let (ending, _) = self.exited.unwrap_or((Ending::LOST, self.begun));
        let tail = self.process.last_lines().await;
        let pool = self.pool.clone();
        match (self.state, self.ending) {
            (State::Starting, why) => {
                let (start, memory) = (self.begun, pool.function.memory_mib);
                let waited_ms = start.elapsed().as_millis() as u64;
                pool.failed_to_start(start, |request_id| {
                    let error = start_error(why, ending, request_id, waited_ms, memory, &tail);
                    (error, tail)
                });
                pool.left(self.id, true);
            }
            (State::Idle { mut offer, .. }, _) => {
                if let Ok(job) = offer.try_recv() {
                    pool.give_back(job);
                }
                pool.left(self.id, false);
            }
            (State::Claiming { job, .. }, _) => {
                pool.give_back(*job);
                pool.left(self.id, false);
            }
            (State::Busy { job, .. }, why) => {
                let error = exit_error(why, ending, &job, &pool.function);
                pool.left(self.id, false);
                let outcome = match error {
                    Some(error) => Outcome::Failed { error: Box::new(error) },
                    None => Outcome::Cancelled,
                };
                let (worker_pid, receipt) = (Some(self.process.pid), Receipt::default());
                job.end(Ended { outcome, worker_pid, log: tail, receipt });
            }
            (State::Settling { expected, .. }, _) => pool.left(self.id, expected),
        }
    }

    fn misbehaved(&self, what: &str) {
        let (function, pid) = (self.pool.function.name.as_str().into(), self.process.pid);
        let what = what.to_owned();
        self.pool.shared.events.send(Event::Misbehaved { function, pid, what });
    }
}

impl State {
    /// What may happen to it besides what the process does.
    async fn changed(&mut self) -> Input {
        match self {
            Self::Idle { offer, .. } => match offer.await {
                Ok(job) => Input::Offered(Box::new(job)),
                Err(_) => Input::Dismissed,
            },
            Self::Claiming { job, .. } => {
                let Job { claim, reply, .. } = &mut **job;
                tokio::select! {
                    granted = claim.granted() => Input::Granted(granted),
                    () = reply.closed() => Input::Granted(false),
                }
            }
            Self::Busy { job, .. } => {
                job.reply.closed().await;
                Input::Abandoned
            }
            Self::Starting | Self::Settling { .. } => std::future::pending().await,
        }
    }
}

fn finished(job: &Job, body: Bytes) -> Result<Bytes, Box<Error>> {
    match check_json(&body) {
        Ok(()) => Ok(body),
        Err(why) => Err(Error::invalid_response(&job.call.request_id, &why).into()),
    }
}

fn start_error(
    why: Option<End>,
    ending: Ending,
    request_id: &str,
    waited_ms: u64,
    memory_mib: u32,
    tail: &[String],
) -> Error {
    match why {
        Some(End::InitFailed { error, .. }) => *error,
        Some(End::StartTimedOut) => Error::start_timed_out(request_id, waited_ms),
        _ => match ending.complaint(tail) {
            Some(complaint) => Error::not_startable(request_id, &complaint),
            None if ending.out_of_memory => Error::out_of_memory(request_id, memory_mib),
            None => Error::exited(request_id, &ending.reason()),
        },
    }
}

/// None if the call was abandoned.
fn exit_error(
    why: Option<End>,
    ending: Ending,
    job: &Job,
    function: &crate::function::Function,
) -> Option<Error> {
    let id = &job.call.request_id;
    match why {
        Some(End::TimedOut) => Some(Error::timed_out(id, function.timeout_ms)),
        Some(End::Dismissed) => None,
        _ if ending.out_of_memory => Some(Error::out_of_memory(id, function.memory_mib)),
        _ => Some(Error::exited(id, &ending.reason())),
    }
}
