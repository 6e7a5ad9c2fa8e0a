//! Executions of test cases: their tasks are answered by a mock file (`SFN_MOCK_CONFIG`), all others as ever.
//!
//! Which call of a state is next is kept in memory: an execution that a restart has interrupted is a mocked one no
//! longer.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use everstep_asl::{Machine, Source};
use everstep_executions::{Job, Report, Task};
use everstep_interpreter::{Failure, Payload};
use everstep_server::TestCases;

use everstep_local::mock::{Choice, Mocks, Response};

/// Executions that are remembered; the oldest is forgotten first.
const REMEMBERED_MAX: usize = 10_000;

pub(crate) struct MockFile {
    source: Source,
    executions: Mutex<Executions>,
}

#[derive(Default)]
struct Executions {
    mocks: HashMap<String, Mocks>,
    order: std::collections::VecDeque<String>,
    /// Children of distributed Maps that run, with the execution whose mocks they share.
    children: HashMap<String, String>,
}

impl MockFile {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let text =
            std::fs::read_to_string(path).with_context(|| format!("{name} cannot be read"))?;
        let source = Source::new(name, text);
        Mocks::check(&source)?;
        Ok(Self { source, executions: Mutex::default() })
    }

    fn executions(&self) -> std::sync::MutexGuard<'_, Executions> {
        self.executions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TestCases for MockFile {
    fn begin(
        &self,
        execution_arn: &str,
        machine_name: &str,
        test_case: &str,
        machine: &Machine,
    ) -> Result<(), String> {
        let choice =
            Choice { machine: Some(machine_name), test_case: Some(test_case), own_name: "" };
        let mocks =
            Mocks::read(&self.source, choice, machine).map_err(|error| error.to_string())?;
        let mut executions = self.executions();
        // Asked again for one that runs, its calls go on as they are.
        if !executions.mocks.contains_key(execution_arn) {
            executions.remember(execution_arn, mocks);
        }
        Ok(())
    }

    fn begin_child(&self, parent_arn: &str, child_arn: &str) {
        let mut executions = self.executions();
        let root = executions.root(parent_arn).to_owned();
        if executions.mocks.contains_key(&root) {
            executions.children.insert(child_arn.to_owned(), root);
        }
    }

    fn end_child(&self, child_arn: &str) {
        self.executions().children.remove(child_arn);
    }

    fn answer(&self, task: Task) -> Option<Task> {
        let mut executions = self.executions();
        let root = executions.root(&task.execution_arn).to_owned();
        let Some(mocks) = executions.mocks.get_mut(&root) else { return Some(task) };
        let result = match mocks.next(&task.state) {
            Ok(None) => return Some(task),
            Ok(Some(Response::Return(value))) => Report::Succeeded { output: Payload::new(value) },
            Ok(Some(Response::Throw(failure))) => failed(failure),
            Err(error) => failed(Failure::new("States.Runtime", error.to_string())),
        };
        drop(executions);
        task.report(Report::Started { worker: None });
        if is_submitted(&task) {
            task.report(Report::Submitted { output: Payload::new(serde_json::json!({})) });
        }
        task.report(result);
        None
    }
}

/// Whether the answer of a call comes before the result.
fn is_submitted(task: &Task) -> bool {
    matches!(&task.job, Job::Call { resource, .. } if resource.has_token())
}

fn failed(failure: Failure) -> Report {
    Report::Failed { failure, stage: everstep_interpreter::FailureStage::Run }
}

impl Executions {
    /// The execution whose mocks one has: its own, or those of the execution that its Map Run belongs to.
    fn root<'a>(&'a self, arn: &'a str) -> &'a str {
        self.children.get(arn).map_or(arn, String::as_str)
    }

    fn remember(&mut self, arn: &str, mocks: Mocks) {
        if self.order.len() >= REMEMBERED_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.mocks.remove(&oldest);
        }
        self.order.push_back(arn.to_owned());
        self.mocks.insert(arn.to_owned(), mocks);
    }
}
