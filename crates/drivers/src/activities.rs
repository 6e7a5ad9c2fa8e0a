//! Activities: tasks that wait for workers, and workers that poll for tasks.
//!
//! What waits here is in the journal as well: after a crash it is dispatched again. Tasks and workers wait in the order
//! in which they came. A task leaves only when it is durable that a worker has it; if the worker goes away before, the
//! task goes to the next one.
//!
//! A crash hides whether the worker got a task that was on its way to it. So there is a moment, the mark, which the shell
//! makes durable now and then: all tasks that were started up to it are with their workers. After a crash those are left
//! with them, and the others are offered again, with the same token.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use everstep_executions::{ExecutionId, Task};
use everstep_history::Attempt;

/// Workers that may poll for the tasks of one activity at a time, as in AWS.
pub const WORKERS_MAX: usize = 1000;

/// How long a task that was given may still be on its way to its worker.
pub const ON_ITS_WAY_MS: i64 = 5000;

/// A request of a worker for a task; whoever runs the queues numbers them.
pub type Poll = u64;

/// All that can reach the queues.
#[derive(Debug, Clone)]
pub enum Input {
    /// An execution has scheduled a task of this activity.
    Offered {
        activity: Arc<str>,
        task: Task,
    },
    Polled {
        activity: Arc<str>,
        poll: Poll,
    },
    /// Answers [`Request::Start`].
    Started {
        poll: Poll,
        outcome: Started,
    },
    /// The worker is gone, or has waited long enough.
    Left {
        poll: Poll,
    },
    /// Nobody waits for the result any more.
    Cancelled {
        execution: ExecutionId,
        attempt: Attempt,
    },
}

/// Whether it is durable that a worker has the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Started {
    Durable,
    /// Nobody waits for the result any more: the worker gets another one.
    Settled,
    /// It could not be recorded.
    Refused,
}

/// All that the queues ask for.
#[derive(Debug, Clone)]
pub enum Request {
    /// Records that a worker has the task.
    Start { poll: Poll, execution: ExecutionId, attempt: Attempt },
    /// Answers the worker with its task.
    Give { poll: Poll, task: Task },
    /// Too many workers poll already.
    Refuse { poll: Poll },
    /// The worker gets no task because [`Started::Refused`].
    Fail { poll: Poll },
    /// The cancelled task was waiting here, so no worker has it.
    Withdraw { execution: ExecutionId, attempt: Attempt },
}

/// All that waits.
#[derive(Debug, Default)]
pub struct Queues {
    /// An activity for which nothing waits is not kept.
    queues: HashMap<Arc<str>, Queue>,
    tasks: HashMap<(ExecutionId, Attempt), (Arc<str>, i64)>,
    polls: HashMap<Poll, Waiting>,
    next_place: i64,
    /// Tasks that were started up to this moment are with their workers, as the last engine left it.
    mark_ms: i64,
    /// All that it has left open has been offered.
    recovered: bool,
    /// The clock as it was last.
    now_ms: i64,
    /// Tasks that were started and that no worker is known to have.
    cut: HashMap<(ExecutionId, Attempt), Cut>,
}

/// A task that was started, and is offered again.
#[derive(Debug)]
struct Cut {
    started_ms: i64,
    given_ms: Option<i64>,
}

/// By place: who came first has the lowest.
#[derive(Debug, Default)]
struct Queue {
    tasks: BTreeMap<i64, Task>,
    polls: BTreeMap<i64, Poll>,
}

#[derive(Debug)]
struct Waiting {
    activity: Arc<str>,
    place: i64,
    /// The task whose start is being recorded, since this moment.
    task: Option<(Task, i64)>,
}

impl Queues {
    /// After an engine that has left this mark.
    #[must_use]
    pub fn new(mark_ms: i64) -> Self {
        Self { mark_ms, ..Self::default() }
    }

    pub fn handle(&mut self, input: Input, now_ms: i64) -> Vec<Request> {
        self.tick(now_ms);
        match input {
            Input::Offered { task, .. } if self.has_worker(&task) => Vec::new(),
            Input::Offered { activity, task } => {
                let (place, key) = (self.draw(), (task.execution, task.attempt));
                if let Some(started_ms) = task.started_ms {
                    self.cut.insert(key, Cut { started_ms, given_ms: None });
                }
                self.offer(&activity, task, place, now_ms)
            }
            Input::Polled { activity, poll } => self.poll(activity, poll, now_ms),
            Input::Started { poll, outcome } => self.started(poll, outcome, now_ms),
            Input::Left { poll } => self.left(poll, now_ms),
            Input::Cancelled { execution, attempt } => self.cancelled(execution, attempt),
        }
    }

    /// All tasks that the engine before has left open have been offered. Until then the mark stays where it is.
    pub fn recover(&mut self) {
        self.recovered = true;
    }

    /// Looks at the clock. If it was set back, what is being started may be recorded at an earlier moment than was
    /// thought. Called now and then.
    pub fn tick(&mut self, now_ms: i64) {
        if now_ms < self.now_ms {
            let starting = self.polls.values_mut().filter_map(|waiting| waiting.task.as_mut());
            starting.for_each(|(_, since_ms)| *since_ms = now_ms.min(*since_ms));
            self.cut.values_mut().for_each(|cut| cut.started_ms = now_ms.min(cut.started_ms));
        }
        self.now_ms = now_ms;
    }

    /// Whether a worker of the engine before has a task.
    #[must_use]
    pub fn has_worker(&self, task: &Task) -> bool {
        task.started_ms.is_some_and(|started_ms| started_ms <= self.mark_ms)
    }

    /// The mark as it is now. Tasks that were given less than `on_its_way_ms` ago may not have arrived.
    pub fn mark_ms(&mut self, now_ms: i64, on_its_way_ms: i64) -> i64 {
        self.tick(now_ms);
        let arrived_ms = now_ms.saturating_sub(on_its_way_ms);
        self.cut.retain(|_, cut| cut.given_ms.is_none_or(|given_ms| given_ms > arrived_ms));
        let starting = self.polls.values().filter_map(|waiting| waiting.task.as_ref());
        let open = starting.map(|(_, since_ms)| *since_ms);
        let open = open.chain(self.cut.values().map(|cut| cut.started_ms)).min();
        let mark_ms = open.map_or(arrived_ms, |open_ms| arrived_ms.min(open_ms.saturating_sub(1)));
        if self.recovered { mark_ms } else { mark_ms.min(self.mark_ms) }
    }

    fn draw(&mut self) -> i64 {
        self.next_place += 1;
        self.next_place
    }

    fn offer(&mut self, activity: &Arc<str>, task: Task, place: i64, now_ms: i64) -> Vec<Request> {
        let queue = self.queues.entry(activity.clone()).or_default();
        if let Some((_, poll)) = queue.polls.pop_first() {
            self.tidy(activity);
            return vec![self.start(poll, task, now_ms)];
        }
        queue.tasks.insert(place, task.clone());
        self.tasks.insert((task.execution, task.attempt), (activity.clone(), place));
        Vec::new()
    }

    fn poll(&mut self, activity: Arc<str>, poll: Poll, now_ms: i64) -> Vec<Request> {
        let waiting = self.queues.get(&activity).map_or(0, |queue| queue.polls.len());
        if waiting >= WORKERS_MAX {
            return vec![Request::Refuse { poll }];
        }
        let place = self.draw();
        self.polls.insert(poll, Waiting { activity, place, task: None });
        self.serve(poll, now_ms)
    }

    /// Gives a worker the task that has waited longest, or lets it wait.
    fn serve(&mut self, poll: Poll, now_ms: i64) -> Vec<Request> {
        let Some(Waiting { activity, place, .. }) = self.polls.get(&poll) else {
            return Vec::new();
        };
        let (activity, place) = (activity.clone(), *place);
        let queue = self.queues.entry(activity.clone()).or_default();
        let Some((_, task)) = queue.tasks.pop_first() else {
            queue.polls.insert(place, poll);
            return Vec::new();
        };
        self.tasks.remove(&(task.execution, task.attempt));
        self.tidy(&activity);
        vec![self.start(poll, task, now_ms)]
    }

    fn start(&mut self, poll: Poll, task: Task, now_ms: i64) -> Request {
        let (execution, attempt) = (task.execution, task.attempt);
        if let Some(waiting) = self.polls.get_mut(&poll) {
            waiting.task = Some((task, now_ms));
        }
        Request::Start { poll, execution, attempt }
    }

    fn started(&mut self, poll: Poll, outcome: Started, now_ms: i64) -> Vec<Request> {
        let starting = self.polls.get_mut(&poll).and_then(|waiting| waiting.task.take());
        let Some((task, since_ms)) = starting else { return Vec::new() };
        let key = (task.execution, task.attempt);
        match outcome {
            Started::Settled => {
                self.cut.remove(&key);
                self.serve(poll, now_ms)
            }
            Started::Durable => {
                self.polls.remove(&poll);
                if let Some(cut) = self.cut.get_mut(&key) {
                    cut.given_ms = Some(now_ms);
                }
                vec![Request::Give { poll, task }]
            }
            Started::Refused => {
                let waiting = self.polls.remove(&poll);
                let mut requests = vec![Request::Fail { poll }];
                if let Some(Waiting { activity, .. }) = waiting {
                    requests.extend(self.put_back(&activity, task, since_ms, now_ms));
                }
                requests
            }
        }
    }

    fn left(&mut self, poll: Poll, now_ms: i64) -> Vec<Request> {
        let Some(Waiting { activity, place, task }) = self.polls.remove(&poll) else {
            return Vec::new();
        };
        if let Some(queue) = self.queues.get_mut(&activity) {
            queue.polls.remove(&place);
        }
        self.tidy(&activity);
        let back = |(task, since_ms)| self.put_back(&activity, task, since_ms, now_ms);
        task.map_or_else(Vec::new, back)
    }

    /// A task that a worker did not take is the next one to be given. It may be recorded as started.
    fn put_back(
        &mut self,
        activity: &Arc<str>,
        task: Task,
        since_ms: i64,
        now_ms: i64,
    ) -> Vec<Request> {
        let cut = Cut { started_ms: since_ms, given_ms: None };
        self.cut.entry((task.execution, task.attempt)).or_insert(cut);
        let first = self.queues.get(activity).and_then(|queue| queue.tasks.keys().next().copied());
        let place = first.map_or_else(|| self.draw(), |first| first - 1);
        self.offer(activity, task, place, now_ms)
    }

    fn cancelled(&mut self, execution: ExecutionId, attempt: Attempt) -> Vec<Request> {
        let Some((activity, place)) = self.tasks.remove(&(execution, attempt)) else {
            return Vec::new();
        };
        self.cut.remove(&(execution, attempt));
        if let Some(queue) = self.queues.get_mut(&activity) {
            queue.tasks.remove(&place);
        }
        self.tidy(&activity);
        vec![Request::Withdraw { execution, attempt }]
    }

    fn tidy(&mut self, activity: &Arc<str>) {
        if let Some(queue) = self.queues.get(activity)
            && queue.tasks.is_empty()
            && queue.polls.is_empty()
        {
            self.queues.remove(activity);
        }
    }
}

#[cfg(test)]
mod tests {
    use everstep_asl::model::Resource;
    use everstep_executions::{Job, Mailbox, Message};
    use everstep_history::Payload;
    use serde_json::json;

    use super::*;

    struct Nobody;

    impl Mailbox<Message> for Nobody {
        fn post(&self, _: Message) {}
    }

    fn task(name: &str) -> Task {
        let job = Job::Call {
            resource: Arc::new(Resource::classify("arn:aws:states:r:1:activity:a")),
            parameters: Payload::new(json!({})),
            credentials: None,
        };
        Task::alone(name, "S", job, Arc::new(Nobody))
    }

    /// Does what steps say, and writes down what is asked for: `offer x`, `poll 1`, `started 1`, `settled 1`,
    /// `refused 1`, `left 1`, `cancel x`.
    fn check(script: &[(&str, &str)]) {
        let mut queues = Queues::default();
        for (step, expected) in script {
            let (verb, object) = step.split_once(' ').expect("a verb and an object");
            let (activity, poll) = (Arc::from("a"), object.parse().unwrap_or_default());
            let started = |outcome| Input::Started { poll, outcome };
            let input = match verb {
                "offer" => Input::Offered { activity, task: task(object) },
                "poll" => Input::Polled { activity, poll },
                "started" => started(Started::Durable),
                "settled" => started(Started::Settled),
                "refused" => started(Started::Refused),
                "left" => Input::Left { poll },
                "cancel" => Input::Cancelled {
                    execution: ExecutionId::of(object),
                    attempt: task(object).attempt,
                },
                other => panic!("unknown step {other}"),
            };
            let requests: Vec<String> = queues.handle(input, 0).into_iter().map(shown).collect();
            assert_eq!(requests.join(", "), *expected, "{step}");
        }
        assert!(queues.queues.is_empty() && queues.polls.is_empty() && queues.tasks.is_empty());
    }

    fn shown(request: Request) -> String {
        let name = |id| {
            let known = ["x", "y", "z"].into_iter().find(|name| ExecutionId::of(name) == id);
            known.expect("it was offered")
        };
        match request {
            Request::Start { poll, execution, .. } => {
                format!("start {} for {poll}", name(execution))
            }
            Request::Give { poll, task } => format!("give {} to {poll}", task.execution_arn),
            Request::Refuse { poll } => format!("refuse {poll}"),
            Request::Fail { poll } => format!("fail {poll}"),
            Request::Withdraw { execution, .. } => format!("withdraw {}", name(execution)),
        }
    }

    #[test]
    fn tasks_and_workers_wait_in_their_order() {
        check(&[
            ("offer x", ""),
            ("offer y", ""),
            ("poll 1", "start x for 1"),
            ("poll 2", "start y for 2"),
            ("poll 3", ""),
            ("poll 4", ""),
            ("offer z", "start z for 3"),
            ("started 2", "give y to 2"),
            ("started 3", "give z to 3"),
            ("started 1", "give x to 1"),
            ("left 4", ""),
        ]);
    }

    #[test]
    fn a_task_that_a_worker_did_not_take_goes_to_the_next() {
        check(&[
            ("offer x", ""),
            ("offer y", ""),
            ("poll 1", "start x for 1"),
            ("left 1", ""),
            ("started 1", ""),
            ("poll 2", "start x for 2"),
            ("poll 3", "start y for 3"),
            ("poll 4", ""),
            ("refused 2", "fail 2, start x for 4"),
            ("started 4", "give x to 4"),
            ("started 3", "give y to 3"),
        ]);
    }

    #[test]
    fn a_settled_task_is_passed_over() {
        check(&[
            ("offer x", ""),
            ("offer y", ""),
            ("poll 1", "start x for 1"),
            ("settled 1", "start y for 1"),
            ("settled 1", ""),
            ("offer z", "start z for 1"),
            ("started 1", "give z to 1"),
        ]);
    }

    #[test]
    fn a_cancelled_task_is_withdrawn_unless_a_worker_has_it() {
        check(&[
            ("offer x", ""),
            ("cancel x", "withdraw x"),
            ("cancel x", ""),
            ("poll 1", ""),
            ("offer y", "start y for 1"),
            ("cancel y", ""),
            ("settled 1", ""),
            ("left 1", ""),
        ]);
    }

    #[test]
    fn what_was_on_its_way_at_the_crash_is_offered_again() {
        let offered = |name, started_ms| {
            let mut task = task(name);
            (task.again, task.started_ms) = (true, Some(started_ms));
            Input::Offered { activity: "a".into(), task }
        };
        let mut queues = Queues::new(1000);
        assert_eq!(queues.mark_ms(9000, ON_ITS_WAY_MS), 1000, "not all is known");
        queues.recover();
        assert_eq!(queues.mark_ms(9000, ON_ITS_WAY_MS), 4000);
        let poll = |poll| Input::Polled { activity: "a".into(), poll };
        let shows = |requests: Vec<Request>| requests.into_iter().map(shown).collect::<String>();
        assert_eq!(shows(queues.handle(offered("x", 1000), 9000)), "");
        assert_eq!(shows(queues.handle(offered("y", 1001), 9000)), "");
        assert_eq!(queues.mark_ms(9000, ON_ITS_WAY_MS), 1000, "y may be cut again");
        assert_eq!(shows(queues.handle(poll(1), 9500)), "start y for 1", "x has a worker");
        assert_eq!(queues.mark_ms(99_000, ON_ITS_WAY_MS), 1000);
        let started = |poll| Input::Started { poll, outcome: Started::Durable };
        assert_eq!(shows(queues.handle(started(1), 99_000)), "give y to 1");
        assert_eq!(queues.mark_ms(99_000, ON_ITS_WAY_MS), 1000, "it is on its way");
        assert_eq!(queues.mark_ms(104_000, ON_ITS_WAY_MS), 99_000, "it has arrived");
    }

    #[test]
    fn the_mark_is_before_what_no_worker_has() {
        let mut queues = Queues::default();
        queues.recover();
        let poll = |poll| Input::Polled { activity: "a".into(), poll };
        queues.handle(Input::Offered { activity: "a".into(), task: task("x") }, 10_000);
        queues.handle(poll(1), 20_000);
        assert_eq!(queues.mark_ms(30_000, 0), 19_999, "its start is being recorded");
        queues.handle(Input::Left { poll: 1 }, 30_000);
        assert_eq!(queues.mark_ms(40_000, 0), 19_999, "that may be durable, and no worker has it");
        queues.handle(poll(2), 40_000);
        queues.handle(Input::Started { poll: 2, outcome: Started::Durable }, 40_000);
        assert_eq!(queues.mark_ms(40_000, 0), 40_000);
    }

    #[test]
    fn the_mark_follows_a_clock_that_is_set_back() {
        let mut queues = Queues::default();
        queues.recover();
        queues.handle(Input::Offered { activity: "a".into(), task: task("x") }, 10_000);
        queues.handle(Input::Polled { activity: "a".into(), poll: 1 }, 20_000);
        queues.handle(Input::Left { poll: 1 }, 20_000);
        queues.tick(15_000);
        assert_eq!(queues.mark_ms(90_000, 0), 14_999, "its start may be recorded only now");
    }

    #[test]
    fn so_many_workers_poll_and_no_more() {
        let mut queues = Queues::default();
        let poll = |poll| Input::Polled { activity: "a".into(), poll };
        for number in 0..WORKERS_MAX as Poll {
            assert!(queues.handle(poll(number), 0).is_empty());
        }
        let refused = queues.handle(poll(5000), 0);
        assert!(matches!(refused[..], [Request::Refuse { poll: 5000 }]));
    }
}
