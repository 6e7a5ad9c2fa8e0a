//! The two dialects, and every difference between them.
//!
//! `spec` is the States Language as its specification and the error-handling guide define it;
//! `aws` is the service as recorded. Nothing elsewhere asks which dialect it is: a difference is a
//! method here and a row of [`crate::DIFFERENCES`], in the same order.

use serde_json::Value;

use crate::error_name;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Dialect {
    #[default]
    Spec,
    Aws,
}

/// Kinds of run-time failure that the dialects name differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuntimeError {
    NoChoiceMatched,
    ParameterPath,
    Intrinsic,
    ResultPath,
}

impl Dialect {
    pub const EACH: [Self; 2] = [Self::Spec, Self::Aws];
}

/// Every method is a difference.
impl Dialect {
    /// The error name of a failure that the definition itself causes. What the service calls
    /// `States.Runtime` nothing can retry or catch.
    #[must_use]
    pub fn runtime_error(self, kind: RuntimeError) -> &'static str {
        match (self, kind) {
            (Self::Aws, _) => error_name::RUNTIME,
            (Self::Spec, RuntimeError::NoChoiceMatched) => "States.NoChoiceMatched",
            (Self::Spec, RuntimeError::ParameterPath) => "States.ParameterPathFailure",
            (Self::Spec, RuntimeError::Intrinsic) => "States.IntrinsicFailure",
            (Self::Spec, RuntimeError::ResultPath) => "States.ResultPathMatchFailure",
        }
    }

    /// Whether a definition is refused for what only the service refuses: states that no transition leads to, a
    /// machine without an end, names of states beyond 80 characters.
    #[must_use]
    pub fn refuses_as_the_service_does(self) -> bool {
        self == Self::Aws
    }

    /// What a Task without `TimeoutSeconds` gets: 60 s in the specification, practically
    /// nothing in the service.
    #[must_use]
    pub fn default_timeout_seconds(self) -> Option<u64> {
        match self {
            Self::Spec => Some(60),
            Self::Aws => None,
        }
    }

    /// Whether a heartbeat that a path or an expression gives is compared with the timeout: "the
    /// HeartbeatSeconds interval MUST be smaller than the TimeoutSeconds value".
    #[must_use]
    pub fn compares_heartbeats(self) -> bool {
        self == Self::Spec
    }

    /// Whether `States.BranchFailed` matches the failure of a Parallel state, besides the name of
    /// the error in the branch.
    #[must_use]
    pub fn matches_branch_failed(self) -> bool {
        self == Self::Spec
    }

    /// Whether `States.ALL` matches a task's result that is too large.
    #[must_use]
    pub fn catches_oversized_results(self) -> bool {
        self == Self::Aws
    }

    /// The error name of a task that failed without one. "The Error Output MUST have a
    /// string-valued field named Error."
    #[must_use]
    pub fn unnamed_task_error(self) -> Option<&'static str> {
        match self {
            Self::Spec => Some(error_name::TASK_FAILED),
            Self::Aws => None,
        }
    }

    /// Whether the code of a task may report an error under this name: names of other errors "MUST NOT
    /// begin with the prefix States.", and none may take a meaning that the language has given to it.
    #[must_use]
    pub fn accepts_error_name(self, name: &str) -> bool {
        match self {
            Self::Spec => !error_name::is_reserved(name),
            Self::Aws => !error_name::is_predefined(name),
        }
    }

    /// The error name that a crashed function is reported under: "unhandled errors in Lambda
    /// functions" are `Lambda.Unknown`.
    #[must_use]
    pub fn crashed_function(self, crash: &'static str) -> &'static str {
        match self {
            Self::Spec => error_name::LAMBDA_UNKNOWN,
            Self::Aws => crash,
        }
    }

    /// Whether timeouts and missed heartbeats say what took too long: the Error Output "SHOULD have a
    /// string-valued field named Cause".
    #[must_use]
    pub fn explains_timeouts(self) -> bool {
        self == Self::Spec
    }

    /// Whether an execution that ran out of time shows an error: "the interpreter fails the machine
    /// with a States.Timeout Error Name".
    #[must_use]
    pub fn shows_timeout_of_execution(self) -> bool {
        self == Self::Spec
    }

    /// What a catcher's output has in place of an error or cause that a task did not give.
    #[must_use]
    pub fn missing_text_of_task(self) -> Value {
        match self {
            Self::Spec => Value::from(""),
            Self::Aws => Value::Null,
        }
    }

    /// Whether the states inside a Map see the item in the context object: "within the Map State
    /// (but not child states within an Iterator field)".
    #[must_use]
    pub fn shows_item_to_children(self) -> bool {
        self == Self::Aws
    }

    /// Whether `States.Format` writes arrays and objects: "the Value MUST NOT be a JSON array or
    /// object".
    #[must_use]
    pub fn prints_structures(self) -> bool {
        self == Self::Aws
    }

    /// Whether `Parameters` and `ItemSelector` can be any JSON: "a Payload Template MUST be a JSON object".
    #[must_use]
    pub fn takes_any_template(self) -> bool {
        self == Self::Aws
    }

    /// Iterations of an inline Map at a time without `MaxConcurrency`, given the service's limit:
    /// "places no limit".
    #[must_use]
    pub fn unlimited_concurrency(self, service_limit: u32) -> u32 {
        match self {
            Self::Spec => u32::MAX,
            Self::Aws => service_limit,
        }
    }
}

impl Dialect {
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::EACH.into_iter().find(|dialect| dialect.name() == name)
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::Aws => "aws",
        }
    }

    /// What definitions run by.
    #[must_use]
    pub fn follows(self) -> &'static str {
        match self {
            Self::Spec => "the Amazon States Language specification",
            Self::Aws => "what AWS Step Functions does",
        }
    }
}
