//! Test cases: executions whose tasks are answered by mocks, as AWS Step Functions Local has them.
//!
//! An execution of `…:stateMachine:order#happy` runs the test case `happy`. Which cases there are and what they
//! answer is not known here.

use everstep_asl::Machine;
use everstep_executions::Task;

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

    /// Called for every task before it is dispatched, and may not wait: answers it, or gives it back.
    fn answer(&self, task: Task) -> Option<Task>;
}

/// The ARN of a machine and the test case it names.
pub(crate) fn split(arn: &str) -> (&str, Option<&str>) {
    arn.split_once('#').map_or((arn, None), |(arn, test_case)| (arn, Some(test_case)))
}
