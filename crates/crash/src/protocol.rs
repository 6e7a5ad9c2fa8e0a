//! Requests to the engine under test and its answers: one JSON value on each line.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Executions are named by their ARN.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    Start {
        machine: String,
        arn: String,
        input: Value,
    },
    Watch {
        arn: String,
    },
    Stop {
        arn: String,
    },
    Redrive {
        arn: String,
    },
    /// The result of a task that waits for a callback.
    Report {
        token: String,
        output: Value,
    },
    /// Finish what was taken, and leave.
    End,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Answer {
    /// The engine is open, so long after the process began.
    Ready {
        ms: u64,
    },
    Started {
        arn: String,
    },
    Ended {
        arn: String,
        end: End,
    },
    Stopped {
        arn: String,
    },
    Redriven {
        arn: String,
    },
    Reported {
        token: String,
    },
    /// A task asks for a callback.
    Callback {
        arn: String,
        token: String,
    },
    Refused {
        request: Request,
        /// The name of the error's variant.
        code: String,
        error: String,
    },
    /// The engine can do no more.
    Failed {
        error: String,
    },
}

/// How an execution ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum End {
    Succeeded(Value),
    Failed(String),
    TimedOut,
    Aborted,
}
