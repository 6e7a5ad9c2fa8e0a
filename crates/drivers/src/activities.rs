//! Activities: tasks that wait for workers, and workers that poll for tasks.
//!
//! What waits here is in the journal as well: after a crash it is dispatched again, unless a worker has it. Tasks and
//! workers wait in the order in which they came. A task leaves only when it is durable that a worker has it; if the
//! worker goes away before, the task goes to the next one.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use everstep_executions::{ExecutionId, Task};
use everstep_history::Attempt;

/// Workers that may poll for the tasks of one activity at a time, as in AWS.
pub const WORKERS_MAX: usize = 1000;

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
    /// The task whose start is being recorded.
    task: Option<Task>,
}

impl Queues {
    pub fn handle(&mut self, input: Input) -> Vec<Request> {
        match input {
            Input::Offered { activity, task } => {
                let place = self.draw();
                self.offer(&activity, task, place)
            }
            Input::Polled { activity, poll } => self.poll(activity, poll),
            Input::Started { poll, outcome } => self.started(poll, outcome),
            Input::Left { poll } => self.left(poll),
            Input::Cancelled { execution, attempt } => self.cancelled(execution, attempt),
        }
    }

    fn draw(&mut self) -> i64 {
        self.next_place += 1;
        self.next_place
    }

    fn offer(&mut self, activity: &Arc<str>, task: Task, place: i64) -> Vec<Request> {
        let queue = self.queues.entry(activity.clone()).or_default();
        if let Some((_, poll)) = queue.polls.pop_first() {
            self.tidy(activity);
            return vec![self.start(poll, task)];
        }
        queue.tasks.insert(place, task.clone());
        self.tasks.insert((task.execution, task.attempt), (activity.clone(), place));
        Vec::new()
    }

    fn poll(&mut self, activity: Arc<str>, poll: Poll) -> Vec<Request> {
        let waiting = self.queues.get(&activity).map_or(0, |queue| queue.polls.len());
        if waiting >= WORKERS_MAX {
            return vec![Request::Refuse { poll }];
        }
        let place = self.draw();
        self.polls.insert(poll, Waiting { activity, place, task: None });
        self.serve(poll)
    }

    /// Gives a worker the task that has waited longest, or lets it wait.
    fn serve(&mut self, poll: Poll) -> Vec<Request> {
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
        vec![self.start(poll, task)]
    }

    fn start(&mut self, poll: Poll, task: Task) -> Request {
        let (execution, attempt) = (task.execution, task.attempt);
        if let Some(waiting) = self.polls.get_mut(&poll) {
            waiting.task = Some(task);
        }
        Request::Start { poll, execution, attempt }
    }

    fn started(&mut self, poll: Poll, outcome: Started) -> Vec<Request> {
        let Some(task) = self.polls.get_mut(&poll).and_then(|waiting| waiting.task.take()) else {
            return Vec::new();
        };
        match outcome {
            Started::Settled => self.serve(poll),
            Started::Durable => {
                self.polls.remove(&poll);
                vec![Request::Give { poll, task }]
            }
            Started::Refused => {
                let waiting = self.polls.remove(&poll);
                let mut requests = vec![Request::Fail { poll }];
                if let Some(Waiting { activity, .. }) = waiting {
                    requests.extend(self.put_back(&activity, task));
                }
                requests
            }
        }
    }

    fn left(&mut self, poll: Poll) -> Vec<Request> {
        let Some(Waiting { activity, place, task }) = self.polls.remove(&poll) else {
            return Vec::new();
        };
        if let Some(queue) = self.queues.get_mut(&activity) {
            queue.polls.remove(&place);
        }
        self.tidy(&activity);
        task.map_or_else(Vec::new, |task| self.put_back(&activity, task))
    }

    /// A task that a worker did not take is the next one to be given.
    fn put_back(&mut self, activity: &Arc<str>, task: Task) -> Vec<Request> {
        let first = self.queues.get(activity).and_then(|queue| queue.tasks.keys().next().copied());
        let place = first.map_or_else(|| self.draw(), |first| first - 1);
        self.offer(activity, task, place)
    }

    fn cancelled(&mut self, execution: ExecutionId, attempt: Attempt) -> Vec<Request> {
        let Some((activity, place)) = self.tasks.remove(&(execution, attempt)) else {
            return Vec::new();
        };
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
            let requests: Vec<String> = queues.handle(input).into_iter().map(shown).collect();
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
    fn so_many_workers_poll_and_no_more() {
        let mut queues = Queues::default();
        let poll = |poll| Input::Polled { activity: "a".into(), poll };
        for number in 0..WORKERS_MAX as Poll {
            assert!(queues.handle(poll(number)).is_empty());
        }
        let refused = queues.handle(poll(5000));
        assert!(matches!(refused[..], [Request::Refuse { poll: 5000 }]));
    }
}
