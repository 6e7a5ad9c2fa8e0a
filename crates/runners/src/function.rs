//! What there is to run.

use std::path::PathBuf;

/// A function as it is deployed. Two that are equal share their processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// `$LATEST`, or another version that the function should see.
    pub version: String,
    pub runtime: Runtime,
    /// The folder with the code; processes start in it.
    pub code: PathBuf,
    /// Tells one state of the code from another: when it changes, processes are replaced.
    pub code_state: u64,
    /// All of the environment that is the function's own.
    pub env: Vec<(String, String)>,
    /// For one call, from the moment the code is given the event.
    pub timeout_ms: u64,
    pub memory_mib: u32,
    /// Processes, or calls, at a time; none at all if it is 0.
    pub concurrency_max: Option<u32>,
    /// Processes that are there whether there are calls or not.
    pub instances_min: u32,
    /// How long a process beyond these may have nothing to do.
    pub idle_ms_max: u64,
    /// Calls that one process serves.
    pub invocations_max: Option<u32>,
    pub bootstrap: Bootstrap,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// `handler` is `module.function`; `program` the interpreter.
    Python {
        handler: String,
        program: String,
    },
    Node {
        handler: String,
        program: String,
    },
    /// An executable that speaks the Lambda Runtime API by itself; relative to the code.
    Binary {
        file: PathBuf,
        handler: String,
    },
    /// JSON on standard input, JSON on standard output; a process for each call.
    Command {
        argv: Vec<String>,
    },
    /// JSON is posted, and JSON comes back.
    Http {
        url: String,
        /// The URL as it may be shown: without what is secret.
        shown: String,
        headers: Vec<(String, String)>,
    },
}

/// Whose client speaks the Lambda Runtime API in a Python or Node.js process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bootstrap {
    /// The official one if the code's folder has it, else the one built in.
    #[default]
    Auto,
    Official,
    Builtin,
}

impl Function {
    /// With the limits that Lambda gives a new function, and ten minutes of idleness.
    #[must_use]
    pub fn new(name: &str, runtime: Runtime, code: impl Into<PathBuf>) -> Self {
        Self {
            name: name.to_owned(),
            version: "$LATEST".to_owned(),
            runtime,
            code: code.into(),
            code_state: 0,
            env: Vec::new(),
            timeout_ms: 3_000,
            memory_mib: 128,
            concurrency_max: None,
            instances_min: 0,
            idle_ms_max: 600_000,
            invocations_max: None,
            bootstrap: Bootstrap::Auto,
        }
    }

    #[must_use]
    pub fn python(name: &str, handler: &str, code: impl Into<PathBuf>) -> Self {
        let (handler, program) = (handler.to_owned(), "python3".to_owned());
        Self::new(name, Runtime::Python { handler, program }, code)
    }

    #[must_use]
    pub fn node(name: &str, handler: &str, code: impl Into<PathBuf>) -> Self {
        let (handler, program) = (handler.to_owned(), "node".to_owned());
        Self::new(name, Runtime::Node { handler, program }, code)
    }
}
