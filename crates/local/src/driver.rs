//! Lets the interpreter decide, and does what it asks for, until the execution is over.
//!
//! One thread owns everything; commands report to it through a channel.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use everstep_asl::error_name;
use everstep_asl::model::{Kind, Pattern, Resource};
use everstep_interpreter::map_run::too_many_failures;
use everstep_interpreter::{
    Attempt, Effect, Event, Execution, Failure, FailureStage, FrameId, Identity, Input, Occasion,
    Payload, Program, Status, Tolerance, effects, task_token,
};
use everstep_story::{Entry, RunId, Story};
use serde_json::{Value, json};

use crate::answer::{self, Answer, Form};
use crate::function::{self, Job, Report, Running};
use crate::mock::Response;
use crate::{Answers, Clock, Error};

/// Children of a distributed Map that run at a time if the definition sets no limit.
const CHILDREN_MAX: usize = 40;
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
    run: RunId,
    attempt: Attempt,
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
    runs: Vec<Run>,
    map_runs: HashMap<Task, MapRun>,
    tasks: HashMap<Task, Command>,
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
struct Run {
    execution: Execution,
    events: Vec<Event>,
    /// The Map run and the place in it.
    parent: Option<(Task, usize)>,
}

/// The children of a distributed Map.
struct MapRun {
    program: Arc<Program>,
    label: String,
    waiting: VecDeque<(usize, Payload)>,
    running: BTreeMap<usize, RunId>,
    limit: usize,
    outcomes: Vec<Option<Result<Payload, Failure>>>,
    /// How many items each child works on, and how many of them may fail.
    items: Vec<usize>,
    tolerance: Tolerance,
}

impl MapRun {
    /// Whether more of its items have failed than may.
    fn has_failed(&self) -> bool {
        let failed = |(_, outcome): &(&usize, &Option<Result<Payload, Failure>>)| {
            matches!(outcome, Some(Err(_)))
        };
        let outcomes = self.items.iter().zip(&self.outcomes);
        let failed: usize = outcomes.filter(failed).map(|(items, _)| items).sum();
        self.tolerance.is_exceeded(failed, self.items.iter().sum())
    }
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
        }
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

    fn begin(
        &mut self,
        program: Arc<Program>,
        identity: Identity,
        input: Payload,
        parent: Option<(Task, usize)>,
    ) -> RunId {
        let id = RunId(self.runs.len());
        let around = parent.map(|(task, index)| (task.run, task.attempt.frame, index));
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
            Effect::Succeed { output } => self.child_ended(run, Ok(output)),
            Effect::Fail { failure } | Effect::Abort { failure } => {
                self.child_ended(run, Err(failure));
            }
            Effect::TimeOut => {
                let failure = Failure { error: Some(error_name::TIMEOUT.into()), cause: None };
                self.child_ended(run, Err(failure));
            }
        }
        Ok(())
    }

    fn schedule(
        &mut self,
        task: Task,
        state: &str,
        resource: &str,
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
            Answer::Mocked(Response::Throw(failure)) => self.failed(task, failure),
            Answer::Command { name, command, input, form } => {
                let job = self.job(task, state, name, command, &input);
                let running = self.start(task, &job)?;
                self.tasks.insert(task, Command { form, _running: running });
            }
        }
        Ok(())
    }

    /// What comes before the answer.
    fn started(&mut self, task: Task, resource: &str) {
        let attempt = task.attempt;
        let resource = Resource::classify(resource);
        let worker = matches!(resource, Resource::Activity { .. }).then(|| Arc::from("everstep"));
        self.push(task, Input::TaskStarted { attempt, worker });
        if resource.pattern() != Pattern::RequestResponse {
            let output = Payload::new(json!({}));
            self.push(task, Input::TaskSubmitted { attempt, output });
        }
    }

    fn push(&mut self, task: Task, input: Input) {
        self.inputs.push_back((task.run, input));
    }

    fn failed(&mut self, task: Task, failure: Failure) {
        let (attempt, stage) = (task.attempt, FailureStage::Run);
        self.push(task, Input::TaskFailed { attempt, failure, stage });
    }

    fn job(&self, task: Task, state: &str, name: String, command: String, input: &Value) -> Job {
        let identity = self.runs[task.run.0].execution.identity();
        let token = task_token(&identity.execution_arn, task.attempt);
        let attempt = self.story.attempt(task.run, task.attempt.frame);
        let environment = vec![
            ("EVERSTEP_EXECUTION", identity.execution_name.to_string()),
            ("EVERSTEP_STATE", state.to_owned()),
            ("EVERSTEP_FUNCTION", name),
            ("EVERSTEP_ATTEMPT", attempt.to_string()),
            ("EVERSTEP_TASK_TOKEN", token),
        ];
        Job { command, input: input.to_string(), environment }
    }

    fn start(&self, task: Task, job: &Job) -> Result<Running, Error> {
        let sender = self.sender.clone();
        let report = move |report| {
            // Nobody is there any more to hear it.
            let _ = sender.send(Wake::Function { task, report: FunctionReport(report) });
        };
        function::start(job, report)
            .map_err(|error| Error::new(format!("cannot start `{}`: {error}", job.command)))
    }

    fn cancel(&mut self, task: Task) {
        self.tasks.remove(&task);
        if let Some(map_run) = self.map_runs.remove(&task) {
            for child in map_run.running.into_values() {
                self.stop(child);
            }
        }
    }

    /// Ends a child that nobody waits for, and all that it waits for.
    fn stop(&mut self, run: RunId) {
        let failure = Failure::default();
        let occasion = Occasion::new(self.clock.now_ms(), self.seed);
        let Run { execution, events, .. } = &mut self.runs[run.0];
        events.extend(execution.decide(Input::Stop { failure }, occasion).unwrap_or_default());
        let mut over: Vec<Task> = self.tasks.keys().chain(self.map_runs.keys()).copied().collect();
        over.retain(|task| task.run == run);
        over.into_iter().for_each(|task| self.cancel(task));
    }

    fn start_map_run(&mut self, task: Task, frame: FrameId, plan: &everstep_interpreter::MapRun) {
        let execution = &self.runs[task.run.0].execution;
        let Some(state) = execution.state_of(frame) else { return };
        let Kind::Map(map) = &state.kind else { return };
        let program = execution.program();
        let program = Arc::new(Program {
            machine: map.processor.clone(),
            dialect: program.dialect,
            limits: program.limits,
        });
        let label = map.label.clone().unwrap_or_else(|| state.name.to_string());
        let inputs: Vec<Value> = plan.inputs.as_array().cloned().unwrap_or_default();
        let batched = map.item_batcher.is_some();
        let items = |input: &Value| match batched {
            true => input["Items"].as_array().map_or(0, Vec::len),
            false => 1,
        };
        let (items, tolerance) = (inputs.iter().map(items).collect(), plan.tolerance);
        let limit = match plan.max_concurrency {
            0 => CHILDREN_MAX,
            max => max as usize,
        };
        let outcomes = vec![None; inputs.len()];
        let waiting = inputs.into_iter().map(Payload::new).enumerate().collect();
        let running = BTreeMap::new();
        let map_run =
            MapRun { program, label, waiting, running, limit, outcomes, items, tolerance };
        self.map_runs.insert(task, map_run);
        self.fill(task);
    }

    /// Starts as many children as there is room for; ends the Map run when none is left.
    fn fill(&mut self, task: Task) {
        loop {
            let Some(map_run) = self.map_runs.get_mut(&task) else { return };
            if map_run.waiting.is_empty() && map_run.running.is_empty() {
                break;
            }
            if map_run.running.len() >= map_run.limit {
                return;
            }
            let Some((index, input)) = map_run.waiting.pop_front() else { return };
            let program = map_run.program.clone();
            let identity =
                child_identity(self.runs[task.run.0].execution.identity(), &map_run.label, index);
            let child = self.begin(program, identity, input, Some((task, index)));
            if let Some(map_run) = self.map_runs.get_mut(&task) {
                map_run.running.insert(index, child);
            }
        }
        let Some(map_run) = self.map_runs.remove(&task) else { return };
        let children = map_run.outcomes.into_iter().flatten().collect();
        self.push(task, Input::MapRunFinished { attempt: task.attempt, children });
    }

    fn child_ended(&mut self, run: RunId, outcome: Result<Payload, Failure>) {
        let Some((task, index)) = self.runs[run.0].parent else { return };
        let Some(map_run) = self.map_runs.get_mut(&task) else { return };
        map_run.running.remove(&index);
        map_run.outcomes[index] = Some(outcome);
        if map_run.has_failed() {
            self.cancel(task);
            let failure = too_many_failures();
            return self.push(task, Input::MapRunFailed { attempt: task.attempt, failure });
        }
        self.fill(task);
    }

    /// Waits until something is due or somebody reports.
    fn wait(&mut self) -> Result<(), Error> {
        let due = self.next_due();
        let now_ms = self.clock.now_ms();
        if let Some((run, due_ms)) = due
            && (due_ms <= now_ms || (self.tasks.is_empty() && self.clock.skip_to(due_ms)))
        {
            self.inputs.push_back((run, Input::TimePassed));
            return self.hear_now();
        }
        if due.is_none() && self.tasks.is_empty() {
            return Err(Error::new("the execution waits for nothing; please report this as a bug"));
        }
        let until_due = due.map(|(_, due_ms)| u64::try_from(due_ms - now_ms).unwrap_or(0));
        let mut patience = until_due.map_or(Duration::MAX, Duration::from_millis);
        if self.observer.is_live() {
            self.story.at(now_ms);
            self.observer.active(&self.story.activities());
            patience = patience.min(TICK);
        }
        let asleep = Instant::now();
        let heard = if patience == Duration::MAX {
            self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected)
        } else {
            self.receiver.recv_timeout(patience)
        };
        self.clock.passed(asleep.elapsed());
        match heard {
            Ok(wake) => self.hear(wake),
            Err(_) => return Ok(()),
        }
        self.hear_now()
    }

    fn hear_now(&mut self) -> Result<(), Error> {
        while let Ok(wake) = self.receiver.try_recv() {
            self.hear(wake);
        }
        Ok(())
    }

    fn next_due(&self) -> Option<(RunId, i64)> {
        let live = |run: &&Run| *run.execution.status() == Status::Running;
        let due = |(id, run): (usize, &Run)| Some((RunId(id), run.execution.next_due_ms()?));
        let runs = self.runs.iter().enumerate().filter(|(_, run)| live(run));
        runs.filter_map(due).min_by_key(|(_, due_ms)| *due_ms)
    }

    fn hear(&mut self, wake: Wake) {
        match wake {
            Wake::Interrupted => {
                self.tasks.clear();
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
                match answer::result(&outcome, form) {
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

fn child_identity(parent: &Identity, label: &str, index: usize) -> Identity {
    let (arn, name) = (&parent.execution_arn, &parent.execution_name);
    let machine_name = format!("{}/{label}", parent.machine_name);
    let from = format!(":{}:{name}", parent.machine_name);
    Identity {
        execution_arn: arn.replace(&from, &format!(":{machine_name}:{name}-{index}")).into(),
        execution_name: format!("{name}-{index}").into(),
        role_arn: parent.role_arn.clone(),
        machine_arn: format!("{}/{label}", parent.machine_arn).into(),
        machine_name: machine_name.into(),
    }
}
