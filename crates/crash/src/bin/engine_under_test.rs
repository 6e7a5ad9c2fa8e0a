//! One engine on one directory or database, to be killed: `engine-under-test <directory or URL> <witness>`.

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use everstep_asl::model::Pattern;
use everstep_crash::harness;
use everstep_crash::machines;
use everstep_crash::protocol::{Answer, End, Request};
use everstep_crash::witness::{Act, Outcome, Witness};
use everstep_executions::{
    Cancelled, Engine, Error, ExecutionId, Job, Message, Observer, Prepared, Reply, Report, Start,
    Task, TaskRunner,
};
use everstep_history::{Failure, FailureStage, Payload};
use everstep_interpreter::{Status, parse_attempt_name};
use serde_json::json;

const THREADS: usize = 8;

fn main() -> ExitCode {
    let begun = Instant::now();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, witness] = arguments.as_slice() else {
        eprintln!("usage: engine-under-test <directory or URL> <witness>");
        return ExitCode::from(2);
    };
    match run(Path::new(directory), Path::new(witness), begun) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(directory: &Path, witness: &Path, begun: Instant) -> Result<(), String> {
    let voice = Voice::new();
    let witness = Arc::new(Witness::open(witness).map_err(|error| error.to_string())?);
    let (dispatch, tasks) = mpsc::channel();
    let runner = Arc::new(Pool { dispatch });
    let listener = Arc::new(Listener { voice: voice.clone() });
    let engine = Arc::new(harness::engine(harness::store(directory)?, runner, listener)?);
    let tasks = Arc::new(Mutex::new(tasks));
    let worker = |_| {
        let engine = Arc::downgrade(&engine);
        let worker = Worker { witness: witness.clone(), voice: voice.clone(), engine };
        let tasks = tasks.clone();
        thread::spawn(move || worker.run(&tasks))
    };
    let pool: Vec<JoinHandle<()>> = (0..THREADS).map(worker).collect();
    let prepare = |machine: &machines::Machine| {
        let prepared = harness::prepare(&engine, machine.name, &machine.definition);
        prepared.map_err(|error| format!("{}: {error}", machine.name))
    };
    let prepared = machines::all().iter().map(prepare).collect::<Result<Vec<_>, _>>()?;
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    voice.say(Answer::Ready { ms });
    let desk = Desk { engine, prepared, voice };
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let request = serde_json::from_str(&line).map_err(|error| format!("{line}: {error}"))?;
        if matches!(request, Request::End) {
            break;
        }
        desk.take(request);
    }
    // The store is closed when its last owner is gone; then there are no more tasks either.
    drop(desk);
    for worker in pool {
        worker.join().map_err(|_| "a task panicked")?;
    }
    Ok(())
}

/// Writes answers in order, without blocking their senders.
#[derive(Clone)]
struct Voice {
    lines: Sender<(Answer, Option<Sender<()>>)>,
}

impl Voice {
    fn new() -> Self {
        let (lines, receiver) = mpsc::channel();
        thread::spawn(move || {
            for (answer, said) in receiver {
                let mut line: Vec<u8> =
                    serde_json::to_vec(&answer).expect("an answer is plain data");
                line.push(b'\n');
                let mut out = std::io::stdout().lock();
                if out.write_all(&line).and_then(|()| out.flush()).is_err() {
                    return;
                }
                drop(said);
            }
        });
        Self { lines }
    }

    fn say(&self, answer: Answer) {
        let _ = self.lines.send((answer, None));
    }

    /// Says something, and returns when it has been said.
    fn say_and_wait(&self, answer: Answer) {
        let (sender, said) = mpsc::channel();
        let _ = self.lines.send((answer, Some(sender)));
        let _ = said.recv();
    }
}

struct Listener {
    voice: Voice,
}

impl Observer for Listener {
    fn stuck(&self, id: ExecutionId, error: &Error) {
        eprintln!("stuck: {id:?}: {error}");
    }

    fn failed(&self, error: &Error) {
        self.voice.say(Answer::Failed { error: error.to_string() });
    }
}

struct Pool {
    dispatch: Sender<Task>,
}

impl TaskRunner for Pool {
    fn dispatch(&self, task: Task) {
        let _ = self.dispatch.send(task);
    }

    fn cancel(&self, _: Cancelled) {}
}

/// Runs tasks, as their parameters say.
struct Worker {
    witness: Arc<Witness>,
    voice: Voice,
    engine: Weak<Engine>,
}

impl Worker {
    fn run(&self, tasks: &Mutex<Receiver<Task>>) {
        loop {
            let next = tasks.lock().expect("no holder panics").recv();
            let Ok(task) = next else { return };
            self.witness.note(&task, Act::Started);
            let (outcome, report) = self.work(&task);
            self.witness.note(&task, Act::Answered(outcome));
            self.report(task, report);
        }
    }

    fn work(&self, task: &Task) -> (Outcome, Report) {
        let Job::Call { resource, parameters, .. } = &task.job else {
            let failure = Failure::new("Unsupported", "a Map Run");
            return (Outcome::Failed, Report::MapRunFailed { failure });
        };
        if resource.pattern() == Pattern::WaitForTaskToken {
            let (arn, token) = (task.execution_arn.to_string(), task.attempt_name());
            // Before the engine knows: it will not ask again then.
            self.voice.say_and_wait(Answer::Callback { arn, token });
            return (Outcome::HandedOn, Report::Submitted { output: Payload::new(json!({})) });
        }
        let parameters = parameters.value();
        let number = |name: &str| parameters[name].as_u64().unwrap_or(0);
        thread::sleep(Duration::from_millis(number("ms")));
        let retries = number("retries");
        if retries < number("failures") {
            let error = parameters["error"].as_str().unwrap_or("Error");
            let failure = Failure::new(error, format!("attempt {}", retries + 1));
            return (Outcome::Failed, Report::Failed { failure, stage: FailureStage::Run });
        }
        let output = Payload::new(json!({"n": number("n") + 1}));
        (Outcome::Succeeded, Report::Succeeded { output })
    }

    fn report(&self, task: Task, report: Report) {
        let (id, attempt) = (task.execution, task.attempt);
        let witness = self.witness.clone();
        let reply: Reply<()> = Box::new(move |answer| {
            let act = match answer {
                Ok(()) => Act::Acknowledged,
                Err(error) => Act::Refused(code(&error)),
            };
            witness.note(&task, act);
        });
        if let Some(engine) = self.engine.upgrade() {
            engine.send(Message::Report { id, attempt, report, reply: Some(reply) });
        }
    }
}

/// Does what is asked on standard input.
struct Desk {
    engine: Arc<Engine>,
    prepared: Vec<Arc<Prepared>>,
    voice: Voice,
}

impl Desk {
    fn take(&self, request: Request) {
        match self.message(&request) {
            Some(message) => self.engine.send(message),
            None => self.voice.say(Answer::Refused {
                request,
                code: "Unknown".to_owned(),
                error: "no such machine, execution or token".to_owned(),
            }),
        }
    }

    fn message(&self, request: &Request) -> Option<Message> {
        Some(match request.clone() {
            Request::Start { machine, arn, input } => {
                let known = |it: &&Arc<Prepared>| it.revision.machine_name == machine;
                let prepared = self.prepared.iter().find(known)?.clone();
                let start = Box::new(Start::new(&arn, prepared, Payload::new(input)));
                let reply = self.reply(request, move |_| Answer::Started { arn });
                Message::Start { start, reply, watcher: None }
            }
            Request::Watch { arn } => {
                let id = ExecutionId::of(&arn);
                let reply = self.reply(request, |ended: everstep_executions::Ended| {
                    Answer::Ended { arn, end: end(&ended.status) }
                });
                Message::Watch { id, reply }
            }
            Request::Stop { arn } => {
                let (id, failure) = (ExecutionId::of(&arn), Failure::new("Stopped", "by hand"));
                let reply = self.reply(request, |_| Answer::Stopped { arn });
                Message::Stop { id, failure, reply }
            }
            Request::Redrive { arn } => {
                let id = ExecutionId::of(&arn);
                Message::Redrive { id, reply: self.reply(request, |_| Answer::Redriven { arn }) }
            }
            Request::Report { token, output } => {
                let (arn, attempt) = parse_attempt_name(&token)?;
                let report = Report::Succeeded { output: Payload::new(output) };
                let reply = Some(self.reply(request, |()| Answer::Reported { token }));
                Message::Report { id: ExecutionId::of(&arn), attempt, report, reply }
            }
            Request::End => return None,
        })
    }

    fn reply<T>(
        &self,
        request: &Request,
        answer: impl FnOnce(T) -> Answer + Send + 'static,
    ) -> Reply<T> {
        let (voice, request) = (self.voice.clone(), request.clone());
        Box::new(move |outcome| {
            voice.say(match outcome {
                Ok(value) => answer(value),
                Err(error) => {
                    Answer::Refused { request, code: code(&error), error: error.to_string() }
                }
            });
        })
    }
}

fn end(status: &Status) -> End {
    match status {
        Status::Succeeded { output } => End::Succeeded(output.value().clone()),
        Status::Failed { failure } => End::Failed(failure.name().to_owned()),
        Status::TimedOut => End::TimedOut,
        Status::Aborted { .. } | Status::Running => End::Aborted,
    }
}

/// The name of an error's variant.
fn code(error: &Error) -> String {
    let text = match error {
        // It ran, is over, or runs again: its own words say which.
        Error::WrongStatus(summary) => return format!("WrongStatus {:?}", summary.standing),
        other => format!("{other:?}"),
    };
    text.split(['(', ' ', '{']).next().unwrap_or_default().to_owned()
}
