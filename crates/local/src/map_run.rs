//! Distributed Maps: the children run in this process, and the same driver as in the server decides when.
//!
//! Nothing is stored, so what the driver writes is done at once, and no child is ever found from before.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use everstep_asl::model::Kind;
use everstep_drivers::map_run::{
    self, OUTPUT_BYTES_MAX, Outcome, Plan, Request, Settings, Stored, item_counts,
};
use everstep_executions::Report;
use everstep_interpreter::{FrameId, Identity, Input, Payload, Program};
use everstep_story::RunId;
use serde_json::Value;

use crate::driver::{Driver, Observer, Task};

/// The children of a distributed Map.
pub(crate) struct MapRun {
    driver: map_run::Driver,
    program: Arc<Program>,
    label: String,
    inputs: Payload,
    running: BTreeMap<u32, RunId>,
}

impl MapRun {
    pub(crate) fn into_running(self) -> impl Iterator<Item = RunId> {
        self.running.into_values()
    }
}

impl<O: Observer> Driver<O> {
    pub(crate) fn start_map_run(
        &mut self,
        task: Task,
        frame: FrameId,
        plan: &everstep_interpreter::MapRun,
    ) {
        let execution = &self.runs[task.run.0].execution;
        let Some(state) = execution.state_of(frame) else { return };
        let Kind::Map(map) = &state.kind else { return };
        let (program, identity) = (execution.program(), execution.identity());
        let (dialect, limits) = (program.dialect, program.limits);
        let program = Arc::new(Program { machine: map.processor.clone(), dialect, limits });
        let asked = Plan {
            run_arn: everstep_interpreter::map_run::arn(identity, state, plan.run),
            execution_arn: identity.execution_arn.to_string(),
            machine_arn: identity.machine_arn.to_string(),
            state: state.name.to_string(),
            run: plan.run.number,
            attempt: task.attempt,
            redrives: plan.redrives,
            settings: Settings {
                max_concurrency: plan.max_concurrency,
                tolerated_count: plan.tolerance.count,
                tolerated_percentage: plan.tolerance.percentage,
            },
            express: false,
            items: item_counts(plan, map),
            output_bytes_max: OUTPUT_BYTES_MAX,
            again: false,
        };
        let label = map.label.clone().unwrap_or_else(|| state.name.to_string());
        let (driver, requests) = map_run::Driver::open(asked, Stored::default(), self.now_ms());
        let (inputs, running) = (plan.inputs.clone(), BTreeMap::new());
        self.map_runs.insert(task, MapRun { driver, program, label, inputs, running });
        self.perform_all(task, requests);
    }

    fn perform_all(&mut self, task: Task, requests: Vec<Request>) {
        let mut requests = VecDeque::from(requests);
        while let Some(request) = requests.pop_front() {
            let input = match request {
                Request::Write(_) => map_run::Input::Written(Ok(())),
                Request::Start(index) => {
                    self.start_child(task, index);
                    map_run::Input::Started(index, Ok(()))
                }
                Request::Stop(index) => self.stop_child(task, index),
                Request::Report(report) => {
                    self.report_map_run(task, report);
                    map_run::Input::Reported { counts: true }
                }
                Request::Finish => {
                    self.map_runs.remove(&task);
                    return;
                }
                // Only for children from before.
                Request::Survey { .. }
                | Request::Redrive(_)
                | Request::Watch(_)
                | Request::Look(_) => {
                    continue;
                }
            };
            requests.extend(self.feed(task, input));
        }
    }

    fn feed(&mut self, task: Task, input: map_run::Input) -> Vec<Request> {
        let now_ms = self.now_ms();
        let map_run = self.map_runs.get_mut(&task);
        map_run.map_or_else(Vec::new, |map_run| map_run.driver.handle(input, now_ms))
    }

    fn start_child(&mut self, task: Task, index: u32) {
        let Some(map_run) = self.map_runs.get(&task) else { return };
        let program = map_run.program.clone();
        let input = map_run.inputs.get(index as usize).cloned().unwrap_or(Value::Null);
        let parent = self.runs[task.run.0].execution.identity();
        let identity = child_identity(parent, &map_run.label, index);
        let child = self.begin(program, identity, Payload::new(input), Some((task, index)));
        if let Some(map_run) = self.map_runs.get_mut(&task) {
            map_run.running.insert(index, child);
        }
    }

    fn stop_child(&mut self, task: Task, index: u32) -> map_run::Input {
        let child = self.map_runs.get_mut(&task).and_then(|run| run.running.remove(&index));
        match child {
            Some(child) => {
                self.stop(child);
                let status = self.runs[child.0].execution.status().clone();
                map_run::Input::Ended(index, Outcome::of(status))
            }
            None => map_run::Input::Stopped(index, Ok(())),
        }
    }

    fn report_map_run(&mut self, task: Task, report: Report) {
        let attempt = task.attempt;
        match report {
            Report::MapRunFinished { children } => {
                self.push(task, Input::MapRunFinished { attempt, children });
            }
            Report::MapRunFailed { failure } => {
                self.push(task, Input::MapRunFailed { attempt, failure });
            }
            _ => {}
        }
    }

    /// An execution is over: if it is the child of a distributed Map, that takes note.
    pub(crate) fn child_ended(&mut self, run: RunId) {
        let Some((task, index)) = self.runs[run.0].parent else { return };
        let Some(map_run) = self.map_runs.get_mut(&task) else { return };
        map_run.running.remove(&index);
        let outcome = Outcome::of(self.runs[run.0].execution.status().clone());
        let requests = self.feed(task, map_run::Input::Ended(index, outcome));
        self.perform_all(task, requests);
    }
}

fn child_identity(parent: &Identity, label: &str, index: u32) -> Identity {
    let (arn, name) = (&parent.execution_arn, &parent.execution_name);
    let machine_name = format!("{}/{label}", parent.machine_name);
    let from = format!(":{}:{name}", parent.machine_name);
    Identity {
        execution_arn: arn.replace(&from, &format!(":{machine_name}:{name}-{index}")).into(),
        execution_name: format!("{name}-{index}").into(),
        role_arn: parent.role_arn.clone(),
        machine_arn: format!("{}/{label}", parent.machine_arn).into(),
        machine_name: machine_name.into(),
        token_key: parent.token_key,
    }
}
