//! Whether new work is accepted: executions, definitions, asynchronous invocations. Work that was accepted continues.

use std::sync::{Arc, Mutex, PoisonError};

use everstep_api::protocol::{Common, Error, Operation};

/// Open until it is closed, with a reason for those who are refused.
#[derive(Debug, Default)]
pub struct Admission(Mutex<Option<Arc<str>>>);

impl Admission {
    pub fn close(&self, reason: &str) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.into());
    }

    pub fn open(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Why no new work is accepted, if so.
    pub(crate) fn refusal(&self) -> Option<Arc<str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses operations that bring new work.
    pub(crate) fn check(&self, operation: Operation) -> Result<(), Error> {
        match self.refusal() {
            Some(reason) if is_new_work(operation) => {
                Err(Error::common(Common::ServiceUnavailable, &*reason))
            }
            _ => Ok(()),
        }
    }
}

/// What stores something new. All others read, stop, remove, or say what became of work that was accepted; of a
/// synchronous execution nothing is stored.
fn is_new_work(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::CreateActivity
            | Operation::CreateStateMachine
            | Operation::CreateStateMachineAlias
            | Operation::PublishStateMachineVersion
            | Operation::RedriveExecution
            | Operation::StartExecution
            | Operation::UpdateStateMachine
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_new_work_is_refused() {
        let admission = Admission::default();
        let check = |operation: Operation, expected: Option<&str>| {
            let found = admission.check(operation).err();
            let found = found.as_ref().map(|error| (error.status(), error.message()));
            assert_eq!(found, expected.map(|reason| (503, reason)), "{}", operation.name());
        };
        check(Operation::StartExecution, None);
        admission.close("it is full");
        check(Operation::StartExecution, Some("it is full"));
        check(Operation::CreateStateMachine, Some("it is full"));
        check(Operation::StopExecution, None);
        check(Operation::SendTaskSuccess, None);
        check(Operation::DeleteStateMachine, None);
        admission.open();
        check(Operation::StartExecution, None);
    }
}
