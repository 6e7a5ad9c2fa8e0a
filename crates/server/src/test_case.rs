//! Test cases: executions whose tasks are answered by mocks, as AWS Step Functions Local has them.
//!
//! An execution of `…:stateMachine:order#happy` runs the test case `happy`. Which cases there are and what they
//! answer is not known here.

use everstep_asl::Machine;
use everstep_executions::Task;

use crate::service::Service;

/// Who knows the test cases.
pub trait TestCases: Send + Sync {
    /// Called before an execution starts that is to run a test case; an error says why it cannot.
    fn begin(
        &self,
        execution_arn: &str,
        machine_name: &str,
        test_case: &str,
        machine: &Machine,
    ) -> Result<(), String>;

    /// Called before a child of a distributed Map starts: it runs the test case of its parent, if that runs one.
    fn begin_child(&self, parent_arn: &str, child_arn: &str);

    /// Called when such a child is over, or was not started.
    fn end_child(&self, child_arn: &str);

    /// Called for every task before it is dispatched, and may not wait: answers it, or gives it back.
    fn answer(&self, task: Task) -> Option<Task>;
}

/// The ARN of a machine and the test case that a request names behind it, if there are test cases.
pub(crate) fn split<'a>(service: &Service, arn: &'a str) -> (&'a str, Option<&'a str>) {
    match arn.split_once('#').filter(|_| service.test_cases.is_some()) {
        Some((arn, test_case)) => (arn, Some(test_case)),
        None => (arn, None),
    }
}
