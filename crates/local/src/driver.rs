//! Lets the interpreter decide, and does what it asks for, until the execution is over.
//!
//! One thread owns everything; commands report to it through a channel.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use everstep_asl::model::{Pattern, Resource};
use everstep_interpreter::{
    Attempt, Effect, Event, Execution, Failure, FailureStage, Identity, Input, Occasion, Payload,
    Program, Status, effects,
};
use everstep_story::{Entry, RunId, Story};
use serde_json::{Value, json};

use crate::answer::{self, Answer, Form};
use crate::function::{self, Job, Report, Running};
use crate::map_run::MapRun;
use crate::mock::Response;
use crate::{Answers, Clock, Error};

/// Commands that run at a time; others wait for their turn.
const COMMANDS_MAX: usize = 1000;
/// How often what is shown of the moment is renewed.
const TICK: Duration = Duration::from_millis(100);

/// What wakes the loop.
#[derive(Debug)]
pub enum Wake {
    Interrupted,
    Function { task: Task, report: FunctionReport },
}

#[derive(Debug)]
pub struct FunctionReport(Report);

/// A task of one of the executions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Task {
    pub(crate) run: RunId,
    pub(crate) attempt: Attempt,
}

/// Receives what happens, when it happens.
pub trait Observer {
    fn happened(&mut self, entry: &Entry);

    /// Whether [`Self::active`] is to be called while nothing happens.
    fn is_live(&self) -> bool {
        false
    }

    /// What is under way: tasks that run, states that wait, retries to come.
    fn active(&mut self, _activities: &[String]) {}
}

/// Nobody watches.
impl Observer for () {
    fn happened(&mut self, _: &Entry) {}
}

pub struct Driver<O> {
    answers: Answers,
    clock: Clock,
    pub story: Story,
    pub observer: O,
    seed: u64,
    pub(crate) runs: Vec<Run>,
    pub(crate) map_runs: HashMap<Task, MapRun>,
    tasks: HashMap<Task, Command>,
    /// Commands that wait for their turn.
    queued: VecDeque<(Task, Job, Form)>,
    inputs: VecDeque<(RunId, Input)>,
    sender: Sender<Wake>,
    receiver: Receiver<Wake>,
}

/// A command at work.
struct Command {
    form: Form,
    _running: Running,
}

/// The execution, or a child of a distributed Map.
pub(crate) struct Run {
    pub(crate) execution: Execution,
    events: Vec<Event>,
    /// The Map Run and the index in it.
    pub(crate) parent: Option<(Task, u32)>,
}

/// How it ended.
#[derive(Debug)]
pub struct Ended {
    pub status: Status,
    pub history: Vec<Value>,
}

impl<O: Observer> Driver<O> {
    pub fn new(
        answers: Answers,
        clock: Clock,
        observer: O,
        seed: u64,
        (sender, receiver): (Sender<Wake>, Receiver<Wake>),
    ) -> Self {
        Self {
            answers,
            clock,
            story: Story::default(),
            observer,
            seed,
            runs: Vec::new(),
            map_runs: HashMap::new(),
            tasks: HashMap::new(),
            queued: VecDeque::new(),
            inputs: VecDeque::new(),
            sender,
            receiver,
        }
    }

    /// Runs an execution to its end.
    pub fn run(
        &mut self,
        program: Arc<Program>,
        identity: Identity,
        input: Payload,
    ) -> Result<Ended, Error> {
        self.story = Story::new(program.dialect);
        self.begin(program, identity, input, None);
        loop {
            match self.inputs.pop_front() {
                Some((run, input)) => self.decide(run, input)?,
                None => self.wait()?,
            }
            if *self.runs[0].execution.status() != Status::Running {
                return Ok(self.ended());
            }
            self.start_queued()?;
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    fn ended(&self) -> Ended {
        let Run { execution, events, .. } = &self.runs[0];
        let history = everstep_interpreter::aws_history::project(
            execution.program(),
            execution.identity(),
            events,
        );
        Ended { status: execution.status().clone(), history }
    }

    pub(crate) fn begin(
        &mut self,
        program: Arc<Program>,
        identity: Identity,
        input: Payload,
        parent: Option<(Task, u32)>,
    ) -> RunId {
        let id = RunId(self.runs.len());
        let around = parent.map(|(task, index)| (task.run, task.attempt.frame, index as usize));
        self.story.begin(id, program.machine.clone(), around);
        let execution = Execution::new(program, identity);
        self.runs.push(Run { execution, events: Vec::new(), parent });
        self.inputs.push_back((id, Input::Start { input }));
        id
    }

    fn decide(&mut self, run: RunId, input: Input) -> Result<(), Error> {
        // The seeds of an execution must differ; how does not matter.
        self.seed = self.seed.wrapping_add(1);
        let occasion = Occasion::new(self.clock.now_ms(), self.seed);
        let execution = &mut self.runs[run.0].execution;
        // What comes too late changes nothing.
        let Ok(events) = execution.decide(input, occasion) else { return Ok(()) };
        let effects = effects(execution, &events);
        self.story.observe(run, &events).iter().for_each(|entry| self.observer.happened(entry));
        self.runs[run.0].events.extend(events);
        effects.into_iter().try_for_each(|effect| self.perform(run, effect))
    }

    fn perform(&mut self, run: RunId, effect: Effect) -> Result<(), Error> {
        match effect {
            Effect::ScheduleTask { attempt, state, resource, parameters, .. } => {
                self.schedule(Task { run, attempt }, &state, &resource, &parameters)?;
            }
            Effect::StartMapRun { attempt, frame, plan, .. } => {
                self.start_map_run(Task { run, attempt }, frame, &plan);
            }
            Effect::CancelTask { attempt } => self.cancel(Task { run, attempt }),
            Effect::Succeed { .. }
            | Effect::Fail { .. }
            | Effect::Abort { .. }
            | Effect::TimeOut => self.child_ended(run),
        }
        Ok(())
    }

    fn schedule(
        &mut self,
        task: Task,
        state: &str,
        resource: &Resource,
        parameters: &Payload,
    ) -> Result<(), Error> {
        let Some(answer) = self.answers.find(state, resource, parameters)? else {
            let machine = &self.runs[0].execution.program().machine;
            return Err(self.answers.missing(state, resource, machine));
        };
        self.started(task, resource);
        match answer {
            Answer::Mocked(Response::Return(output)) => {
                let output = Payload::new(output);
                self.push(task, Input::TaskSucceeded { attempt: task.attempt, output });
            }
            Answer::Mocked(Response::Throw(failure)) | Answer::Refused(failure) => {
                self.failed(task, failure);
            }
            Answer::Command { name, command, input, form } => {
                let job = self.job(task, state, name, command, input);
                self.queued.push_back((task, job, form));
                self.start_queued()?;
            }
        }
        Ok(())
    }

    fn start_queued(&mut self) -> Result<(), Error> {
        while self.tasks.len() < COMMANDS_MAX
            && let Some((task, job, form)) = self.queued.pop_front()
        {
            let running = self.start(task, &job)?;
            self.tasks.insert(task, Command { form, _running: running });
        }
        Ok(())
    }

    /// What comes before the answer.
    fn started(&mut self, task: Task, resource: &Resource) {
        let attempt = task.attempt;
        let worker = matches!(resource, Resource::Activity { .. }).then(|| Arc::from("everstep"));
        self.push(task, Input::TaskStarted { attempt, worker });
        if resource.pattern() != Pattern::RequestResponse {
            let output = Payload::new(json!({}));
            self.push(task, Input::TaskSubmitted { attempt, output });
        }
    }

    pub(crate) fn push(&mut self, task: Task, input: Input) {
        self.inputs.push_back((task.run, input));
    }

    fn failed(&mut self, task: Task, failure: Failure) {
        let (attempt, stage) = (task.attempt, FailureStage::Run);
        self.push(task, Input::TaskFailed { attempt, failure, stage });
    }

    fn job(&self, task: Task, state: &str, name: String, command: String, input: String) -> Job {
        let identity = self.runs[task.run.0].execution.identity();
        let token = identity.token_key.token(&identity.execution_arn, task.attempt);
        let attempt = self.story.attempt(task.run, task.attempt.frame);
        let environment = vec![
            ("EVERSTEP_EXECUTION", identity.execution_name.to_string()),
            ("EVERSTEP_STATE", state.to_owned()),
            ("EVERSTEP_FUNCTION", name),
            ("EVERSTEP_ATTEMPT", attempt.to_string()),
            ("EVERSTEP_TASK_TOKEN", token),
        ];
        Job { command, input, environment }
    }

    fn start(&self, task: Task, job: &Job) -> Result<Running, Error> {
        let sender = self.sender.clone();
        let report = move |report| {
            // No receiver is left.
            let _ = sender.send(Wake::Function { task, report: FunctionReport(report) });
        };
        function::start(job, report)
            .map_err(|error| Error::new(format!("cannot start `{}`: {error}", job.command)))
    }

    fn cancel(&mut self, task: Task) {
        self.tasks.remove(&task);
        self.queued.retain(|(queued, ..)| *queued != task);
        if let Some(map_run) = self.map_runs.remove(&task) {
            for child in map_run.into_running() {
                self.stop(child);
            }
        }
    }

    /// Stops a child of a Map Run that is over, with its tasks.
    pub(crate) fn stop(&mut self, run: RunId) {
        let failure = Failure::default();
        let occasion = Occasion::new(self.clock.now_ms(), self.seed);
        let Run { execution, events, .. } = &mut self.runs[run.0];
        events.extend(execution.decide(Input::Stop { failure }, occasion).unwrap_or_default());
        let queued = self.queued.iter().map(|(task, ..)| task);
        let tasks = self.tasks.keys().chain(self.map_runs.keys()).chain(queued);
        let mut over: Vec<Task> = tasks.copied().collect();
        over.retain(|task| task.run == run);
        over.into_iter().for_each(|task| self.cancel(task));
    }

    /// Waits until a timer is due or a command reports.
    fn wait(&mut self) -> Result<(), Error> {
        let due = self.next_due();
        let now_ms = self.clock.now_ms();
        if let Some((run, due_ms)) = due
            && (due_ms <= now_ms || (self.tasks.is_empty() && self.clock.skip_to(due_ms)))
        {
            self.inputs.push_back((run, Input::TimePassed));
            return self.receive_all();
        }
        if due.is_none() && self.tasks.is_empty() {
            return Err(Error::new("the execution waits for nothing; please report this as a bug"));
        }
        let until_due = due.map(|(_, due_ms)| u64::try_from(due_ms - now_ms).unwrap_or(0));
        let mut patience = until_due.map_or(Duration::MAX, Duration::from_millis);
        if self.observer.is_live() {
            self.story.at(now_ms);
            self.observer.active(&self.story.report().activity_lines());
            patience = patience.min(TICK);
        }
        let asleep = Instant::now();
        let received = if patience == Duration::MAX {
            self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            self.receiver.recv_timeout(patience)
        };
        self.clock.passed(asleep.elapsed());
        match received {
            Ok(wake) => self.receive(wake),
            Err(_) => return Ok(()),
        }
        self.receive_all()
    }

    fn receive_all(&mut self) -> Result<(), Error> {
        while let Ok(wake) = self.receiver.try_recv() {
            self.receive(wake);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<(RunId, i64)> {
        let live = |run: &&Run| *run.execution.status() == Status::Running;
        let due = |(id, run): (usize, &Run)| Some((RunId(id), run.execution.next_due_ms()?));
        let runs = self.runs.iter().enumerate().filter(|(_, run)| live(run));
        runs.filter_map(due).min_by_key(|(_, due_ms)| *due_ms)
    }

    fn receive(&mut self, wake: Wake) {
        match wake {
            Wake::Interrupted => {
                self.tasks.clear();
                self.queued.clear();
                self.map_runs.clear();
                self.inputs.clear();
                let failure = Failure::default();
                self.inputs.push_back((RunId(0), Input::Stop { failure }));
            }
            Wake::Function { task, report: FunctionReport(Report::Said(line)) } => {
                if self.tasks.contains_key(&task) {
                    let now_ms = self.clock.now_ms();
                    // That of a task that is over changes nothing.
                    let _ = self.runs[task.run.0].execution.heartbeat(task.attempt, now_ms);
                    let said = self.story.said(task.run, task.attempt.frame, now_ms, &line);
                    said.iter().for_each(|entry| self.observer.happened(entry));
                }
            }
            Wake::Function { task, report: FunctionReport(Report::Ended(outcome)) } => {
                let Some(Command { form, .. }) = self.tasks.remove(&task) else { return };
                let dialect = self.runs[task.run.0].execution.program().dialect;
                match answer::result(&outcome, form, dialect) {
                    Ok(output) => {
                        let output = Payload::new(output);
                        self.push(task, Input::TaskSucceeded { attempt: task.attempt, output });
                    }
                    Err(failure) => self.failed(task, failure),
                }
            }
        }
    }
}
