//! Whom a line of the log or a violation concerns.

use std::fmt;

use everstep_executions::ExecutionId;
use everstep_invocations::InvocationId;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Execution(ExecutionId),
    Invocation(InvocationId),
}

impl From<ExecutionId> for Whose {
    fn from(id: ExecutionId) -> Self {
        Self::Execution(id)
    }
}

impl From<InvocationId> for Whose {
    fn from(id: InvocationId) -> Self {
        Self::Invocation(id)
    }
}

impl fmt::Debug for Whose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Execution(id) => id.fmt(f),
            Self::Invocation(id) => id.fmt(f),
        }
    }
}
