//! The two dialects, and every difference between them.
//!
//! `spec` is the States Language as its specification and the error-handling guide define it;
//! `aws` is the service as recorded. Nothing elsewhere asks which dialect it is: a difference is a
//! method here and a row of `docs/dialects.md`, in the same order.

use everstep_asl::error_name;
use everstep_history::Failure;
use serde_json::Value;

use crate::Limits;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    #[default]
    Spec,
    Aws,
}

/// Kinds of run-time failure that the dialects name differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RuntimeError {
    NoChoiceMatched,
    ParameterPath,
    Intrinsic,
    ResultPath,
}

impl Dialect {
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "spec" => Some(Self::Spec),
            "aws" => Some(Self::Aws),
            _ => None,
        }
    }

    /// The error name of a failure that the definition itself causes. What the service calls
    /// `States.Runtime` nothing can retry or catch.
    pub(crate) fn runtime_error(self, kind: RuntimeError) -> &'static str {
        match (self, kind) {
            (Self::Aws, _) => error_name::RUNTIME,
            (Self::Spec, RuntimeError::NoChoiceMatched) => "States.NoChoiceMatched",
            (Self::Spec, RuntimeError::ParameterPath) => "States.ParameterPathFailure",
            (Self::Spec, RuntimeError::Intrinsic) => "States.IntrinsicFailure",
            (Self::Spec, RuntimeError::ResultPath) => "States.ResultPathMatchFailure",
        }
    }

    /// What a Task without `TimeoutSeconds` gets: 60 s in the specification, practically
    /// nothing in the service.
    pub(crate) fn default_timeout_seconds(self) -> Option<u64> {
        match self {
            Self::Spec => Some(60),
            Self::Aws => None,
        }
    }

    /// Whether `States.BranchFailed` matches the failure of a Parallel state, besides the name of
    /// the error in the branch.
    pub(crate) fn matches_branch_failed(self) -> bool {
        self == Self::Spec
    }

    /// Whether a wildcard matches a task's result that is too large.
    pub(crate) fn catches_oversized_results(self) -> bool {
        self == Self::Aws
    }

    /// The failure of a task that gave no error name. "The Error Output MUST have a string-valued
    /// field named Error."
    pub(crate) fn unnamed_task_failure(self, failure: Failure) -> Failure {
        match (self, failure) {
            (Self::Spec, Failure { error: None, cause }) => {
                Failure { error: Some(error_name::TASK_FAILED.into()), cause }
            }
            (_, failure) => failure,
        }
    }

    /// The failure of a function that ended without a word: "unhandled errors in Lambda functions"
    /// are `Lambda.Unknown`. Which it was is then in the cause.
    pub(crate) fn crashed_function(self, name: &'static str, failure: Failure) -> Failure {
        match self {
            Self::Aws => failure,
            Self::Spec => {
                let cause = match failure.cause {
                    Some(cause) if cause.contains(name) => cause,
                    Some(cause) if !cause.is_empty() => format!("{name}: {cause}").into(),
                    _ => name.into(),
                };
                Failure::new(error_name::LAMBDA_UNKNOWN, cause)
            }
        }
    }

    /// What stands in a catcher's output for what a task did not say.
    pub(crate) fn missing_text_of_task(self) -> Value {
        match self {
            Self::Spec => Value::from(""),
            Self::Aws => Value::Null,
        }
    }

    /// Whether the states inside a Map see the item in the context object: "within the Map State
    /// (but not child states within an Iterator field)".
    pub(crate) fn shows_item_to_children(self) -> bool {
        self == Self::Aws
    }

    /// Iterations of an inline Map at a time without `MaxConcurrency`: "places no limit".
    pub(crate) fn unlimited_concurrency(self, limits: &Limits) -> u32 {
        match self {
            Self::Spec => u32::MAX,
            Self::Aws => limits.inline_concurrency,
        }
    }
}
