//! The two dialects, and every difference between them.
//!
//! `spec` is the States Language as its specification and the error-handling guide define it;
//! `aws` is the service as recorded. Nothing elsewhere asks which dialect it is: a difference is a
//! method here, and a row of `docs/dialects.md`.

use everstep_asl::error_name;

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

    /// The error name of a failure that the definition itself causes.
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

    /// The name a missed heartbeat is reported by. Both are matched by `States.Timeout` and by
    /// `States.HeartbeatTimeout`.
    pub(crate) fn heartbeat_error(self) -> &'static str {
        match self {
            Self::Spec => error_name::HEARTBEAT_TIMEOUT,
            Self::Aws => error_name::TIMEOUT,
        }
    }

    /// Whether a Parallel state fails under the name of its own, `States.BranchFailed`, as well as
    /// that of the branch.
    pub(crate) fn matches_branch_failed(self) -> bool {
        self == Self::Spec
    }

    /// Whether a task's result that is too large can be caught, by a wildcard too.
    pub(crate) fn catches_oversized_results(self) -> bool {
        self == Self::Aws
    }
}
