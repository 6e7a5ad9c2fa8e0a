//! What workers will say of the tasks they are given, when, and how often.

use everstep_executions::{ExecutionId, Job, Task};
use everstep_history::{Attempt, Event};

use super::{HOUR_MS, MINUTE_MS, Outcome, World};
use crate::checkers::{self, Violation};
use crate::evidence::{Ask, Evidence, Say};
use crate::tasks::{Fate, Given, Way, way};
use crate::workload;

impl World {
    pub(super) fn dispatched(&mut self, task: Task, durable_to: u64) -> Outcome {
        let (id, attempt) = (task.execution, task.attempt);
        let Evidence { generation, now_ms, .. } = self.evidence;
        self.log.line(Some(id.into()), || format!("dispatch {attempt:?} again {}", task.again));
        self.log.count((id, attempt, task.again, now_ms));
        checkers::dispatch(&self.evidence, &task, durable_to)?;
        self.evidence.witness.see(&task, generation, now_ms);
        let Some(subject) = self.evidence.subjects.iter().position(|known| known.id == id) else {
            return Err(Violation::boxed(
                "same_attempt_same_id",
                Some(id.into()),
                "no client has started it".to_owned(),
            ));
        };
        match way(&task.job) {
            Way::Call => self.plan_result(subject, attempt),
            Way::Callback => {
                let delay = self.dice.between(0, 500);
                self.send(subject, Ask::Report { attempt, say: Say::Submitted }, delay);
                self.plan_result(subject, attempt);
            }
            Way::Activity => self.offer(task),
            Way::Driven if matches!(task.job, Job::MapRun { .. }) => self.open_run(task),
            Way::Driven => self.open_call(task),
        }
        Ok(())
    }

    /// What a worker will say of an attempt, when, and how often.
    pub(super) fn plan_result(&mut self, subject: usize, attempt: Attempt) {
        let id = self.evidence.subjects[subject].id;
        let (has_end, heartbeat) = self.limits(id, attempt);
        let delay = self.delay(subject);
        if let Some(seconds) = heartbeat {
            self.plan_heartbeats(subject, attempt, seconds, delay);
        }
        if !self.calm && has_end && self.dice.percent(8) {
            return;
        }
        let times = if self.dice.percent(12) { 2 } else { 1 };
        for _ in 0..times {
            let failures = if self.calm { 5 } else { self.temper.task_failures };
            let error = self.dice.percent(failures).then(|| self.dice.pick(&workload::ERRORS));
            self.answers += 1;
            let say = Say::Result(self.answers, error);
            let given = Given { number: self.answers, failed: error.is_some(), fate: Fate::Open };
            if let Some(tried) = self.evidence.witness.of(id, attempt) {
                tried.answers.push(given);
            }
            let late = if times == 2 { self.dice.between(0, 3000) } else { 0 };
            self.send(subject, Ask::Report { attempt, say }, delay + late);
        }
    }

    /// Whether an attempt ends by itself, and how often it must send a heartbeat.
    pub(super) fn limits(&self, id: ExecutionId, attempt: Attempt) -> (bool, Option<u64>) {
        match self.evidence.scheduled(id, attempt) {
            Some((Event::TaskScheduled { heartbeat_seconds, deadline_ms, .. }, ..)) => {
                (deadline_ms.is_some() || heartbeat_seconds.is_some(), *heartbeat_seconds)
            }
            _ => (false, None),
        }
    }

    pub(super) fn plan_heartbeats(
        &mut self,
        subject: usize,
        attempt: Attempt,
        seconds: u64,
        until_ms: i64,
    ) {
        let interval = i64::try_from(seconds).unwrap_or(1) * 600;
        for beat in 1..=8 {
            let at = beat * interval;
            if at >= until_ms || (!self.calm && self.dice.percent(12)) {
                return;
            }
            self.send(subject, Ask::Heartbeat { attempt }, at);
        }
    }

    pub(super) fn delay(&mut self, subject: usize) -> i64 {
        let machine = self.evidence.subjects[subject].machine;
        if self.evidence.machines[machine].long || self.calm {
            return self.dice.between(0, 20);
        }
        match self.dice.below(20) {
            0..=9 => 0,
            10..=14 => self.dice.between(1, 2000),
            15..=18 => self.dice.between(2000, 6 * MINUTE_MS),
            _ => self.dice.between(HOUR_MS, 30 * HOUR_MS),
        }
    }
}
