//! What is asked for, and what is wrong with it.

use std::fmt;

use everstep_expr::Entropy;
use everstep_history::{Failure, Payload};

use crate::{Dialect, Identity, Limits};

/// The parameters of `TestState`, and what a pure function needs in addition.
#[derive(Debug, Clone)]
pub struct Request {
    /// One state, or a state machine if `state_name` is given.
    pub definition: String,
    pub state_name: Option<String>,
    /// JSON; an empty object if none is given.
    pub input: Option<String>,
    /// A JSON object.
    pub variables: Option<String>,
    /// A JSON object that takes the place of the context object.
    pub context: Option<String>,
    pub mock: Option<Mock>,
    pub configuration: Configuration,
    pub level: Level,
    pub reveal_secrets: bool,
    /// Whose context the state sees. Without a role, `role_arn` is empty.
    pub identity: Identity,
    pub dialect: Dialect,
    pub limits: Limits,
    pub now_ms: i64,
    pub seed: u64,
    /// The result of the call that an earlier pass asked for.
    pub answer: Option<Result<Payload, Failure>>,
}

/// In place of a task, of iterations or of branches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mock {
    /// JSON.
    pub result: Option<String>,
    pub error_output: Option<MockError>,
    pub field_validation: FieldValidation,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MockError {
    pub error: Option<String>,
    pub cause: Option<String>,
}

/// How a mocked result is compared with what the action returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FieldValidation {
    #[default]
    Strict,
    Present,
    None,
}

/// What has happened before, as the state under test sees it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Configuration {
    pub retrier_retry_count: u32,
    pub error_caused_by_state: Option<String>,
    pub map_iteration_failure_count: Option<u32>,
    pub map_item_reader_data: Option<String>,
}

/// How much the response shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Level {
    #[default]
    Info,
    Debug,
    Trace,
}

/// A request that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestError {
    pub code: Code,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Code {
    InvalidDefinition,
    InvalidExecutionInput,
    ValidationException,
}

/// "A state's name": the service's bounds of the parameter.
const NAME_CHARACTERS_MAX: usize = 80;

impl Request {
    /// A request for the outcome alone: everything that can be left out is.
    #[must_use]
    pub fn new(definition: impl Into<String>, identity: Identity) -> Self {
        Self {
            definition: definition.into(),
            state_name: None,
            input: None,
            variables: None,
            context: None,
            mock: None,
            configuration: Configuration::default(),
            level: Level::Info,
            reveal_secrets: false,
            identity,
            dialect: Dialect::default(),
            limits: Limits::default(),
            now_ms: 0,
            seed: 0,
            answer: None,
        }
    }

    /// What parameters say about each other.
    pub(super) fn check(&self) -> Result<(), RequestError> {
        if let Some(name) = &self.state_name {
            check_name(name)?;
        }
        match &self.mock {
            Some(_) if self.reveal_secrets => {
                let message = "TestState does not support RevealSecrets when a mock is specified.";
                Err(RequestError::invalid(message))
            }
            None if self.context.is_some() => {
                Err(RequestError::invalid("Context can only be specified together with a mock"))
            }
            None if self.configuration != Configuration::default() => Err(RequestError::invalid(
                "State configuration can only be specified together with a mock",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn read_input(&self) -> Result<Payload, RequestError> {
        Payload::from_text(self.input.as_deref().unwrap_or("{}")).map_err(|error| {
            let message = format!("Invalid State Machine Execution Input: '{error}'");
            RequestError::new(Code::InvalidExecutionInput, message)
        })
    }

    pub(super) fn entropy(&self) -> Entropy {
        Entropy::new(self.now_ms, self.seed)
    }
}

fn check_name(name: &str) -> Result<(), RequestError> {
    let constraint = match name.chars().count() {
        0 => "greater than or equal to 1",
        1..=NAME_CHARACTERS_MAX => return Ok(()),
        _ => "less than or equal to 80",
    };
    Err(RequestError::invalid(format!(
        "1 validation error detected: Value '{name}' at 'stateName' failed to satisfy constraint: \
         Member must have length {constraint}"
    )))
}

impl FieldValidation {
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "STRICT" => Some(Self::Strict),
            "PRESENT" => Some(Self::Present),
            "NONE" => Some(Self::None),
            _ => None,
        }
    }
}

impl Level {
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        match name {
            "INFO" => Some(Self::Info),
            "DEBUG" => Some(Self::Debug),
            "TRACE" => Some(Self::Trace),
            _ => None,
        }
    }
}

impl Code {
    /// The service's name for it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidDefinition => "InvalidDefinition",
            Self::InvalidExecutionInput => "InvalidExecutionInput",
            Self::ValidationException => "ValidationException",
        }
    }
}

impl RequestError {
    pub(super) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::ValidationException, message)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for RequestError {}
