//! A configuration that holds: names resolve, policies are complete.

use std::fmt;
use std::path::PathBuf;

use everstep_asl::WorkflowType;
use everstep_retry::Policy;
use everstep_source::document::{Found, Node};

use crate::origin::{Given, Line};
use crate::text::Text;

pub use crate::trigger::model::{
    Encoding, Folder, Format, Http, Missed, OnExhausted, Overlap, Signature, Timer, Trigger,
    TriggerKind,
};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Config {
    pub functions: Vec<Function>,
    pub state_machines: Vec<StateMachine>,
    pub queues: Vec<Queue>,
    pub destinations: Vec<Destination>,
    pub triggers: Vec<Trigger>,
    pub defaults: Defaults,
}

impl Config {
    #[must_use]
    pub fn function(&self, name: &str) -> Option<&Function> {
        self.functions.iter().find(|function| function.name == name)
    }

    #[must_use]
    pub fn trigger(&self, name: &str) -> Option<&Trigger> {
        self.triggers.iter().find(|trigger| trigger.name == name)
    }

    /// What is retried of what a trigger starts: the most specific policy, as a whole.
    #[must_use]
    pub fn policy_of<'c>(&'c self, trigger: &'c Trigger) -> Option<&'c Given<Policy>> {
        let function = trigger.target.function().and_then(|name| self.function(name));
        trigger.policy.as_ref().or_else(|| function.map(|function| &function.policy))
    }

    /// How old an event of a trigger may become. An age that comes with a built-in policy does not belong to another one.
    #[must_use]
    pub fn event_age_ms_of(&self, trigger: &Trigger) -> Option<u64> {
        let function = trigger.target.function().and_then(|name| self.function(name));
        let age = function.map(|function| &function.max_event_age_ms);
        let age = age.filter(|age| trigger.policy.is_none() || age.origin.line().is_some());
        let own = trigger.max_event_age_ms.as_ref().map(|age| age.value);
        own.or_else(|| age.and_then(|age| age.value))
    }

    #[must_use]
    pub fn state_machine(&self, name: &str) -> Option<&StateMachine> {
        self.state_machines.iter().find(|machine| machine.name == name)
    }
}

/// What holds for functions that do not say otherwise.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Defaults {
    pub policy: Option<Given<Policy>>,
    pub timeout_ms: Option<Given<u64>>,
    pub concurrency: Option<Given<u32>>,
    pub max_event_age_ms: Option<Given<u64>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Function {
    pub name: String,
    pub line: Line,
    pub runtime: Runtime,
    /// Always there for Python and Node.js.
    pub handler: Option<String>,
    /// Where its code is, and where it runs.
    pub code_dir: PathBuf,
    /// The code itself, in place of a folder: `index.py` or `index.js`.
    pub inline_code: Option<String>,
    /// Program and arguments: always there for commands; for what speaks the Runtime API itself, in
    /// place of `bootstrap` in its folder.
    pub command: Vec<Text>,
    /// Always there for HTTP services.
    pub url: Option<Text>,
    pub env: Vec<(String, Text)>,
    /// Of one attempt.
    pub timeout_ms: Given<u64>,
    /// No limit if there is none.
    pub memory_mib: Option<u32>,
    /// How many run at a time, none at all if it is 0; more than that are refused. Who runs functions has a
    /// limit of its own if there is none, and lets calls wait.
    pub concurrency: Given<Option<u32>>,
    pub min_instances: u32,
    pub idle_timeout_ms: u64,
    /// After so many a process is replaced.
    pub max_invocations: Option<u32>,
    pub bootstrap: Bootstrap,
    pub policy: Given<Policy>,
    /// No limit if there is none.
    pub max_event_age_ms: Given<Option<u64>>,
    pub on_success: Option<Given<Target>>,
    pub on_failure: Option<Given<Target>>,
    /// Where events that could not be processed go, besides the store.
    pub dead_letter: Option<Given<Target>>,
    pub next: Vec<Edge>,
    pub retry_metadata: RetryMetadata,
    pub idempotent: Idempotent,
    pub interrupted_attempts: InterruptedAttempts,
    pub max_interruptions: u32,
    /// The function that undoes what this one did.
    pub compensate: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// `3.11`
    Python {
        version: String,
    },
    /// `20`
    Node {
        version: String,
    },
    /// A program that speaks the Lambda Runtime API itself.
    Provided,
    /// A program that reads JSON on standard input and writes JSON on standard output.
    Command,
    Http,
}

impl fmt::Display for Runtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Python { version } => write!(f, "python{version}"),
            Self::Node { version } => write!(f, "nodejs{version}.x"),
            Self::Provided => f.write_str("provided"),
            Self::Command => f.write_str("command"),
            Self::Http => f.write_str("http"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bootstrap {
    /// The official client if it is installed in the function's folder.
    #[default]
    Auto,
    Official,
    Builtin,
}

/// What a retry adds to the event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RetryMetadata {
    #[default]
    None,
    /// `Retry Number`, `ErrorType`, `ErrorMessage` and `StackTrace`.
    Unum,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Idempotent {
    #[default]
    None,
    /// The first success answers every invocation with the same key.
    Result,
}

/// What becomes of an attempt that the engine's own death has interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InterruptedAttempts {
    /// It is repeated as the same attempt.
    #[default]
    Repeat,
    /// It has failed.
    Count,
}

/// To the next function of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edge {
    pub name: String,
    pub input_type: InputType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InputType {
    /// Taken on success, with the result.
    #[default]
    Scalar,
    /// Taken when all retries are used up, with the error.
    Error,
}

/// Where results, failures and dead letters go; shown as written.
pub type Target = everstep_target::Target<Text>;

#[derive(Debug, Clone, PartialEq)]
pub struct StateMachine {
    pub name: String,
    pub line: Line,
    pub definition: Definition,
    pub workflow_type: WorkflowType,
    /// `spec` or `aws`; the server's if there is none.
    pub dialect: Option<String>,
    /// What is notified of executions that do not succeed.
    pub on_failure: Option<Target>,
}

/// Read, but not checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    pub text: String,
    pub origin: DefinitionOrigin,
}

#[derive(Debug, Clone, PartialEq)]
pub enum DefinitionOrigin {
    File(PathBuf),
    /// Fields of the configuration itself, which is this one of the files read.
    Fields {
        file: usize,
        node: Box<Node>,
    },
    /// A text inside the configuration.
    Text(Line),
}

impl DefinitionOrigin {
    /// What a JSON pointer into the definition names, and the file it stands in, if that is one of the
    /// configuration's.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<(usize, Found<'_>)> {
        let Self::Fields { file, node } = self else { return None };
        Some((*file, node.at(pointer)?))
    }
}

/// A queue. What is not set is as SQS has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    pub name: String,
    pub line: Line,
    pub visibility_timeout_ms: Option<u64>,
    pub retention_ms: Option<u64>,
    pub delay_ms: Option<u64>,
    pub receive_wait_ms: Option<u64>,
    pub max_message_bytes: Option<u64>,
    pub poison: Option<PoisonQueue>,
    pub content_based_deduplication: bool,
    pub deduplicates_by_group: bool,
}

/// Where messages go that were received too often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoisonQueue {
    pub name: String,
    pub max_deliveries: u32,
}

/// How long an undeclared poison queue keeps messages: as long as a queue can.
const POISON_RETENTION_MS: u64 = 14 * 24 * 60 * 60 * 1000;

impl Config {
    /// All queues: those that are declared, and the poison queues that they bring with them.
    #[must_use]
    pub fn all_queues(&self) -> Vec<Queue> {
        let mut all = self.queues.clone();
        for queue in &self.queues {
            let poison = queue.poison.as_ref().map(|poison| poison.name.as_str());
            if let Some(name) = poison.filter(|name| !all.iter().any(|known| known.name == **name))
            {
                let retention_ms = Some(POISON_RETENTION_MS);
                all.push(Queue { retention_ms, ..Queue::new(name, queue.line.clone()) });
            }
        }
        all
    }
}

impl Queue {
    /// A queue for which nothing is set.
    #[must_use]
    pub fn new(name: &str, line: Line) -> Self {
        Self {
            name: name.to_owned(),
            line,
            visibility_timeout_ms: None,
            retention_ms: None,
            delay_ms: None,
            receive_wait_ms: None,
            max_message_bytes: None,
            poison: None,
            content_based_deduplication: false,
            deduplicates_by_group: false,
        }
    }

    #[must_use]
    pub fn is_fifo(&self) -> bool {
        self.name.ends_with(".fifo")
    }
}

/// A target with a name of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    pub name: String,
    pub line: Line,
    pub target: Target,
}
