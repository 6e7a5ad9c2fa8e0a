//! The table of the differences, as the user's documentation shows it.

/// One difference between the dialects.
#[derive(Debug, Clone, Copy)]
pub struct Difference {
    /// The method of [`crate::Dialect`] that makes it.
    pub method: &'static str,
    /// What differs.
    pub what: &'static str,
    pub spec: &'static str,
    pub aws: &'static str,
}

/// All of them, in the order of the methods. `docs/dialects.md` shows this table.
pub const DIFFERENCES: &[Difference] = &[
    Difference {
        method: "runtime_error",
        what: "The error a definition causes itself: no Choice rule matches; a path or an intrinsic function of a payload template fails; `ResultPath` does not apply",
        spec: "`States.NoChoiceMatched`, `States.ParameterPathFailure`, `States.IntrinsicFailure`, `States.ResultPathMatchFailure`: each can be retried and caught, by its name and by `States.ALL`",
        aws: "`States.Runtime` for all of them, which nothing retries or catches",
    },
    Difference {
        method: "refuses_as_the_service_does",
        what: "A definition with a state that no transition leads to, without any terminal state, or with a state's name of 81 to 128 characters",
        spec: "is accepted, with a warning",
        aws: "is refused",
    },
    Difference {
        method: "default_timeout_seconds",
        what: "A Task without `TimeoutSeconds`",
        spec: "fails with `States.Timeout` after 60 seconds; `HeartbeatSeconds` of 60 or more is a warning",
        aws: "has no limit",
    },
    Difference {
        method: "compares_heartbeats",
        what: "A value of `HeartbeatSecondsPath` that is not smaller than the timeout",
        spec: "fails the state with `States.Runtime`, also where the timeout is the default of 60 seconds",
        aws: "is taken: that heartbeat cannot be missed",
    },
    Difference {
        method: "matches_branch_failed",
        what: "`States.BranchFailed` in `ErrorEquals` of a Parallel state",
        spec: "matches when a branch has failed; so does the name of the error in the branch, which is the one that is shown",
        aws: "matches nothing: only the name of the error in the branch does",
    },
    Difference {
        method: "catches_oversized_results",
        what: "A task's result larger than a payload may be (`States.DataLimitExceeded`)",
        spec: "is matched by that name, never by `States.ALL`",
        aws: "is matched by `States.ALL` too",
    },
    Difference {
        method: "unnamed_task_error",
        what: "A task that fails without an error name",
        spec: "fails with `States.TaskFailed`",
        aws: "fails without a name",
    },
    Difference {
        method: "accepts_error_name",
        what: "An error name that begins with `States.`, reported by the code of a task (an exception of a function, `SendTaskFailure`)",
        spec: "is reported as `States.TaskFailed`, and the cause begins with it",
        aws: "the same for the names of the language, such as `States.Runtime`; others are kept",
    },
    Difference {
        method: "crashed_function",
        what: "A function that crashes: its process exits, is killed, runs out of time or memory, or returns invalid JSON",
        spec: "fails with `Lambda.Unknown`; the cause says which it was",
        aws: "fails with `Runtime.ExitError`, `Sandbox.Timedout`, `Runtime.OutOfMemory`, `Runtime.InvalidResponse` or `Runtime.Interrupted`",
    },
    Difference {
        method: "explains_timeouts",
        what: "The cause of `States.Timeout`",
        spec: "says what took too long, and how long it was allowed to take",
        aws: "there is none",
    },
    Difference {
        method: "shows_timeout_of_execution",
        what: "`DescribeExecution` of an execution that exceeded its `TimeoutSeconds`",
        spec: "has the error `States.Timeout` and a cause; so has the event for `onFailure`",
        aws: "has neither error nor cause; the history has the error",
    },
    Difference {
        method: "missing_text_of_task",
        what: "What a catcher's Error Output has where the task gave no error or cause",
        spec: "an empty string",
        aws: "`null`",
    },
    Difference {
        method: "shows_item_to_children",
        what: "`$$.Map.Item` in the states inside a Map",
        spec: "is not defined: only the Map's own fields see it, so pass it on with `ItemSelector`",
        aws: "is defined",
    },
    Difference {
        method: "prints_structures",
        what: "An array or object as a value of `States.Format`",
        spec: "fails with `States.IntrinsicFailure`: convert it with `States.JsonToString`",
        aws: "is printed as Java prints it: `{a=1, b=[]}`",
    },
    Difference {
        method: "takes_any_template",
        what: "`Parameters` and `ItemSelector` that are not an object: `[1, 2]`, `\"text\"`, `null`",
        spec: "are errors; so are they for a task that calls a service",
        aws: "are accepted, except for a task that calls a service",
    },
    Difference {
        method: "unlimited_concurrency",
        what: "An inline Map without `MaxConcurrency`, or with 0",
        spec: "runs all iterations at once",
        aws: "runs 40 at a time",
    },
];
