//! Errors as clients see them.

use std::fmt;

use serde_json::{Value, json};

/// What a client is refused with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    name: Name,
    message: String,
}

/// What SDKs know an error by. Each has two names: one of the JSON protocol, one of the query protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name {
    BatchEntryIdsNotDistinct,
    BatchRequestTooLong,
    EmptyBatchRequest,
    InternalFailure,
    InvalidAction,
    InvalidAddress,
    InvalidAttributeName,
    InvalidAttributeValue,
    InvalidBatchEntryId,
    InvalidMessageContents,
    InvalidParameterValue,
    MalformedQueryString,
    MissingParameter,
    OverLimit,
    QueueDoesNotExist,
    QueueNameExists,
    ReceiptHandleIsInvalid,
    RequestThrottled,
    ResourceNotFound,
    Serialization,
    ServiceUnavailable,
    TooManyEntriesInBatchRequest,
    UnsupportedOperation,
}

/// The service's own errors, and those of the framework that it is built with.
const SERVICE: &str = "com.amazonaws.sqs#";
const FRAMEWORK: &str = "com.amazon.coral.service#";

impl Name {
    /// Name space and name in the JSON protocol.
    fn json(self) -> (&'static str, &'static str) {
        let framework = match self {
            Self::InternalFailure => "InternalFailure",
            Self::InvalidAction => "UnknownOperationException",
            Self::InvalidParameterValue => "InvalidParameterValueException",
            Self::MalformedQueryString => "MalformedQueryStringException",
            Self::MissingParameter => "MissingRequiredParameterException",
            Self::Serialization => "SerializationException",
            Self::ServiceUnavailable => "ServiceUnavailableException",
            _ => return (SERVICE, self.own()),
        };
        (FRAMEWORK, framework)
    }

    fn own(self) -> &'static str {
        match self {
            Self::BatchEntryIdsNotDistinct => "BatchEntryIdsNotDistinct",
            Self::BatchRequestTooLong => "BatchRequestTooLong",
            Self::EmptyBatchRequest => "EmptyBatchRequest",
            Self::InternalFailure => "InternalFailure",
            Self::InvalidAction => "InvalidAction",
            Self::InvalidAddress => "InvalidAddress",
            Self::InvalidAttributeName => "InvalidAttributeName",
            Self::InvalidAttributeValue => "InvalidAttributeValue",
            Self::InvalidBatchEntryId => "InvalidBatchEntryId",
            Self::InvalidMessageContents => "InvalidMessageContents",
            Self::InvalidParameterValue => "InvalidParameterValue",
            Self::MalformedQueryString => "MalformedQueryString",
            Self::MissingParameter => "MissingParameter",
            Self::OverLimit => "OverLimit",
            Self::QueueDoesNotExist => "QueueDoesNotExist",
            Self::QueueNameExists => "QueueNameExists",
            Self::ReceiptHandleIsInvalid => "ReceiptHandleIsInvalid",
            Self::RequestThrottled => "RequestThrottled",
            Self::ResourceNotFound => "ResourceNotFoundException",
            Self::Serialization => "SerializationException",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::TooManyEntriesInBatchRequest => "TooManyEntriesInBatchRequest",
            Self::UnsupportedOperation => "UnsupportedOperation",
        }
    }

    /// The code that clients of the query protocol knew, and boto3 still reports.
    #[must_use]
    pub fn code(self) -> String {
        match self {
            Self::QueueDoesNotExist => "AWS.SimpleQueueService.NonExistentQueue".to_owned(),
            Self::QueueNameExists => "QueueAlreadyExists".to_owned(),
            Self::BatchEntryIdsNotDistinct
            | Self::BatchRequestTooLong
            | Self::EmptyBatchRequest
            | Self::InvalidBatchEntryId
            | Self::TooManyEntriesInBatchRequest
            | Self::UnsupportedOperation => format!("AWS.SimpleQueueService.{}", self.own()),
            _ => self.own().to_owned(),
        }
    }

    fn status(self) -> u16 {
        match self {
            Self::InternalFailure => 500,
            Self::ServiceUnavailable => 503,
            Self::OverLimit | Self::RequestThrottled => 403,
            Self::InvalidAddress
            | Self::MalformedQueryString
            | Self::ReceiptHandleIsInvalid
            | Self::ResourceNotFound => 404,
            _ => 400,
        }
    }

    /// Whether the caller is at fault.
    #[must_use]
    pub fn is_senders(self) -> bool {
        self.status() < 500
    }
}

impl Error {
    #[must_use]
    pub fn new(name: Name, message: impl Into<String>) -> Self {
        Self { name, message: message.into() }
    }

    /// `Value 11 for parameter MaxNumberOfMessages is invalid. Reason: …`
    #[must_use]
    pub fn invalid(parameter: &str, value: impl fmt::Display, reason: &str) -> Self {
        let message =
            format!("Value {value} for parameter {parameter} is invalid. Reason: {reason}");
        Self::new(Name::InvalidParameterValue, message)
    }

    #[must_use]
    pub fn missing(parameter: &str) -> Self {
        let message = format!("The request must contain the parameter {parameter}.");
        Self::new(Name::MissingParameter, message)
    }

    #[must_use]
    pub fn no_such_queue() -> Self {
        Self::new(Name::QueueDoesNotExist, "The specified queue does not exist.")
    }

    #[must_use]
    pub fn name(&self) -> Name {
        self.name
    }

    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    #[must_use]
    pub fn status(&self) -> u16 {
        self.name.status()
    }

    /// As SDKs of the JSON protocol name it: `QueueDoesNotExist`.
    #[must_use]
    pub fn json_name(&self) -> &'static str {
        self.name.json().1
    }

    pub(crate) fn body(&self) -> Value {
        let (space, name) = self.name.json();
        json!({ "__type": format!("{space}{name}"), "message": self.message })
    }

    /// The header that carries the code of the query protocol.
    pub(crate) fn query_header(&self) -> String {
        let fault = if self.name.is_senders() { "Sender" } else { "Receiver" };
        format!("{};{fault}", self.name.code())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name.code(), self.message)
    }
}

impl std::error::Error for Error {}
