//! What is known of a function, and how one is asked to run.

use std::sync::Arc;

use everstep_retry::{Class, Policy};
use everstep_target::Target;
use minicbor::{Decode, Encode};

use crate::codec;
use crate::error::Result;
use crate::id::{AttemptId, InvocationId};

/// Runs functions. Implemented by the owner of the processes; called by the shards.
pub trait Functions: Send + Sync {
    /// How a function is to be invoked, if there is one of that name. Asked at each acceptance and before
    /// each attempt: what it says about retries and routes is pinned at acceptance, its concurrency is not.
    fn function(&self, name: &str) -> Option<Arc<FunctionSettings>>;

    /// Finds a worker for an event whose acceptance is durable. When a worker is ready to take it, `claim` is
    /// called, and the worker gets the event when that is answered: then the attempt's start is durable, and
    /// a crash finds it interrupted. A crash before `claim` interrupts nothing. If the claim is refused, the
    /// event is dropped. Must be short and must not wait: commits are behind it. `done` that is dropped uncalled
    /// says that the attempt was interrupted, or, if it was not claimed, that it has not run.
    fn start(&self, attempt: Attempt, claim: Claim, done: Done);

    /// The attempt's result no longer counts. Its `done` should be called when its worker is gone, which
    /// frees its slot; what it says is not recorded.
    fn kill(&self, attempt: AttemptId);
}

/// Called when a worker is ready to take the event of an attempt, and answered when the worker may have it; with
/// [`crate::Error::StaleResult`] if the attempt is not wanted any more.
pub type Claim = Box<dyn FnOnce(Receipt) + Send>;

/// Called with the first result of an attempt. The receipt is called when that is durable, and only then
/// may the worker be answered; with [`crate::Error::StaleResult`] if it does not count.
pub type Done = Box<dyn FnOnce(Outcome, Receipt) + Send>;

/// See [`Done`].
pub type Receipt = Box<dyn FnOnce(Result<()>) + Send>;

/// What a worker is given.
#[derive(Debug, Clone, PartialEq)]
pub struct Attempt {
    pub id: AttemptId,
    pub invocation: InvocationId,
    /// From 1.
    pub n: u32,
    pub function: String,
    /// The version that was pinned at acceptance.
    pub version: String,
    /// The event, as JSON text.
    pub payload: Arc<[u8]>,
    /// For the header `Lambda-Runtime-Client-Context`: JSON in ASCII.
    pub client_context: String,
    pub session: Option<InvocationId>,
    /// What the source or the caller would repeat, if it is known.
    pub key: Option<String>,
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Succeeded {
        /// JSON text.
        output: Vec<u8>,
        worker_pid: Option<u32>,
        /// The last lines that the worker has written: for the caller, and not kept.
        log: Vec<String>,
    },
    Failed {
        failure: Failure,
        /// What the function said, as JSON text; made from the failure if there is none.
        payload: Option<Vec<u8>>,
        worker_pid: Option<u32>,
    },
    /// The code has not run, for want of a slot or by a fault of the system: does not count.
    Throttled,
    /// The engine or the runner of the attempt gave it up while the code ran.
    Interrupted,
}

impl Outcome {
    /// The last lines that the worker has written.
    pub(crate) fn log(&self) -> Vec<String> {
        match self {
            Self::Succeeded { log, .. } => log.clone(),
            Self::Failed { failure, .. } => failure.log.clone(),
            Self::Throttled | Self::Interrupted => Vec::new(),
        }
    }

    /// What a destination and a caller are shown.
    pub(crate) fn response(&self) -> Option<Vec<u8>> {
        match self {
            Self::Succeeded { output, .. } => Some(output.clone()),
            Self::Failed { failure, payload, .. } => {
                Some(payload.clone().unwrap_or_else(|| failure.payload()))
            }
            Self::Throttled => None,
            Self::Interrupted => Some(Failure::interrupted().payload()),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Failure {
    #[n(0)]
    pub error_type: String,
    #[cbor(n(1), with = "codec::class")]
    pub class: Class,
    #[n(2)]
    pub message: String,
    #[n(3)]
    pub stack: Vec<String>,
    /// The last lines that the worker has written.
    #[cbor(n(4), with = "codec::lines", has_nil)]
    pub log: Vec<String>,
    /// The next attempt should be no sooner, whatever the policy says. Not stored: what is decided is.
    #[cbor(skip)]
    pub retry_after_ms: Option<u64>,
    /// Another attempt would not help, whatever the policy says.
    #[cbor(skip)]
    pub permanent: bool,
}

/// The error of an attempt that was running when the engine ended.
pub const INTERRUPTED: &str = "Runtime.Interrupted";

/// The error of an attempt that was running when its invocation was cancelled.
const CANCELLED: &str = "Runtime.Cancelled";

const ERROR_TYPE_BYTES_MAX: usize = 256;
const MESSAGE_BYTES_MAX: usize = 4 * 1024;
const STACK_BYTES_MAX: usize = 8 * 1024;
const LOG_BYTES_MAX: usize = 4 * 1024;

impl Failure {
    #[must_use]
    pub fn new(error_type: &str, class: Class, message: &str) -> Self {
        Self {
            error_type: error_type.to_owned(),
            class,
            message: message.to_owned(),
            stack: Vec::new(),
            log: Vec::new(),
            retry_after_ms: None,
            permanent: false,
        }
    }

    /// Of an attempt that was running when its invocation was cancelled.
    pub(crate) fn cancelled() -> Self {
        Self::new(CANCELLED, Class::Runtime, "the invocation was cancelled")
    }

    pub(crate) fn interrupted() -> Self {
        Self::new(INTERRUPTED, Class::Runtime, "the engine stopped while the attempt was running")
    }

    pub(crate) fn is_interruption(&self) -> bool {
        self.error_type == INTERRUPTED
    }

    fn payload(&self) -> Vec<u8> {
        let Self { error_type, message, .. } = self;
        serde_json::json!({ "errorType": error_type, "errorMessage": message })
            .to_string()
            .into_bytes()
    }

    /// As much as is kept of each attempt: records are rewritten, so they must stay small.
    pub(crate) fn clipped(&self) -> Self {
        let last = self.log.iter().rev().take_while(fitting(LOG_BYTES_MAX));
        let mut log: Vec<String> = last.cloned().collect();
        log.reverse();
        Self {
            error_type: clip(&self.error_type, ERROR_TYPE_BYTES_MAX).to_owned(),
            message: clip(&self.message, MESSAGE_BYTES_MAX).to_owned(),
            stack: self.stack.iter().take_while(fitting(STACK_BYTES_MAX)).cloned().collect(),
            log,
            ..*self
        }
    }
}

/// Whether a line fits into what those before it have left of so many bytes.
fn fitting(mut left: usize) -> impl FnMut(&&String) -> bool {
    move |line| {
        let fits = line.len() <= left;
        left = left.saturating_sub(line.len());
        fits
    }
}

/// The first bytes of a text, ending between characters.
pub(crate) fn clip(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// How a function is to be invoked.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionSettings {
    /// Which code runs, as the runner names it. Pinned at acceptance.
    pub version: String,
    /// Attempts at a time; with none the function does not run at all. Not pinned.
    pub concurrency: u32,
    /// Whether a synchronous call is refused when all slots are taken; otherwise it waits too.
    pub throttles: bool,
    /// Whether a failure answers later calls with the same key, or only a success does.
    pub failures_answer: bool,
    /// How old an event may become before it is given up.
    pub event_age_max_ms: Option<u64>,
    pub terms: Terms,
}

/// What is copied into an invocation at its acceptance, so that a new configuration does not change what
/// has begun.
#[derive(Debug, Clone, PartialEq, Encode, Decode)]
pub struct Terms {
    /// Without a qualifier, as destinations see it.
    #[n(0)]
    pub arn: String,
    #[cbor(n(1), with = "codec::policy")]
    pub policy: Policy,
    #[n(2)]
    pub interrupted: Interrupted,
    #[n(3)]
    pub on_success: Vec<Target>,
    #[n(4)]
    pub on_failure: Vec<Target>,
    #[n(5)]
    pub next: Vec<Edge>,
    #[n(6)]
    pub retry_metadata: RetryMetadata,
    /// Whether a failure is kept as a dead letter.
    #[n(7)]
    pub dead_letters: bool,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            arn: String::new(),
            policy: Policy::default(),
            interrupted: Interrupted::Repeat { most: INTERRUPTIONS_MAX },
            on_success: Vec::new(),
            on_failure: Vec::new(),
            next: Vec::new(),
            retry_metadata: RetryMetadata::None,
            dead_letters: true,
        }
    }
}

/// How often in a row an attempt is repeated by default.
pub const INTERRUPTIONS_MAX: u32 = 5;

/// What becomes of an attempt that was running when the engine ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Interrupted {
    /// It failed: no function is ever started more than 1 + max times.
    #[n(0)]
    Count,
    /// It is repeated as the same attempt, and uses up no retry. After so many interruptions, the next one is
    /// its failure: code that takes the machine down comes to an end.
    #[n(1)]
    Repeat {
        #[n(0)]
        most: u32,
    },
}

/// A function that follows.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Edge {
    #[n(0)]
    pub function: String,
    #[n(1)]
    pub input: EdgeInput,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum EdgeInput {
    /// The output, after a success.
    #[n(0)]
    Scalar,
    /// `{Error, Cause, attempts}`, when no retry is left: a catcher.
    #[n(1)]
    Error,
}

/// What a retry adds to the event itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum RetryMetadata {
    #[n(0)]
    None,
    /// `Retry Number`, `ErrorType`, `ErrorMessage` and `StackTrace`, if the event is an object.
    #[n(1)]
    Unum,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_a_failure_is_bounded() {
        let long = Failure {
            stack: vec!["x".repeat(3000); 5],
            log: (0..10).map(|n| n.to_string().repeat(1000)).collect(),
            ..Failure::new(&"é".repeat(1000), Class::User, &"é".repeat(10_000))
        };
        let kept = long.clipped();
        assert_eq!((kept.error_type.len(), kept.message.len(), kept.stack.len()), (256, 4096, 2));
        assert_eq!(kept.log, ["6", "7", "8", "9"].map(|line| line.repeat(1000)));
    }
}
