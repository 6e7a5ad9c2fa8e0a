//! An error as a client sees it.

use std::fmt;

use everstep_signature::{Reason, Refusal};
use serde_json::{Map, Value};

use super::model::{Name, Operation};

/// An operation that is refused or has failed, ready to be written by [`super::Answer::error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
    extra: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Declared(Name),
    Common(Common),
}

/// An error that any operation can answer: it comes from the protocol, not from the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Common {
    AccessDenied,
    IncompleteSignature,
    InternalFailure,
    InvalidSignature,
    MissingAuthenticationToken,
    Serialization,
    ServiceUnavailable,
    Throttling,
    UnknownOperation,
    UnrecognizedClient,
    /// A value that does not keep to the model. An operation's own `ValidationException`, which has
    /// a reason, is [`Name::ValidationException`].
    Validation,
}

/// The service's own errors keep the name space of its elder sister, Simple Workflow. The AWS SDK for
/// JavaScript, version 3, listed them by these full names in its previews of 2019.
const SERVICE: &str = "com.amazonaws.swf.service.v2.model#";

impl Error {
    /// An error the operation declares: SDKs turn no other into a type of its own.
    #[must_use]
    pub fn new(operation: Operation, name: Name, message: impl Into<String>) -> Self {
        debug_assert!(operation.declares(name), "{} does not declare {name:?}", operation.name());
        Self { kind: Kind::Declared(name), message: message.into(), extra: Vec::new() }
    }

    #[must_use]
    pub fn common(name: Common, message: impl Into<String>) -> Self {
        Self { kind: Kind::Common(name), message: message.into(), extra: Vec::new() }
    }

    /// With one of the members the error has beside its message: a `reason`, a `resourceName`.
    #[must_use]
    pub fn with(mut self, member: &'static str, value: impl Into<String>) -> Self {
        debug_assert!(self.members().contains(&member), "{} has no {member}", self.name());
        self.extra.push((member, value.into()));
        self
    }

    /// As SDKs report it: `StateMachineDoesNotExist`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::Declared(name) => name.as_str(),
            Kind::Common(name) => name.as_str(),
        }
    }

    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    #[must_use]
    pub fn status(&self) -> u16 {
        match self.kind {
            Kind::Declared(name) => name.status(),
            Kind::Common(name) => name.status(),
        }
    }

    fn members(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::Declared(name) => name.members(),
            Kind::Common(_) => &[],
        }
    }

    pub(super) fn body(&self) -> Value {
        let (space, message) = match self.kind {
            Kind::Declared(_) => (SERVICE, "message"),
            Kind::Common(name) => (name.space(), name.message_member()),
        };
        let mut body = Map::new();
        body.insert("__type".to_owned(), format!("{space}{}", self.name()).into());
        body.insert(message.to_owned(), self.message.clone().into());
        for (member, value) in &self.extra {
            body.insert((*member).to_owned(), value.clone().into());
        }
        body.into()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.message)
    }
}

impl std::error::Error for Error {}

impl Common {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccessDenied => "AccessDeniedException",
            Self::IncompleteSignature => "IncompleteSignatureException",
            Self::InternalFailure => "InternalFailure",
            Self::InvalidSignature => "InvalidSignatureException",
            Self::MissingAuthenticationToken => "MissingAuthenticationTokenException",
            Self::Serialization => "SerializationException",
            Self::ServiceUnavailable => "ServiceUnavailableException",
            Self::Throttling => "ThrottlingException",
            Self::UnknownOperation => "UnknownOperationException",
            Self::UnrecognizedClient => "UnrecognizedClientException",
            Self::Validation => "ValidationException",
        }
    }

    /// Services that speak JSON answer 400 where those that speak REST answer 403.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::InternalFailure => 500,
            Self::ServiceUnavailable => 503,
            _ => 400,
        }
    }

    /// The name spaces are those DynamoDB shows, which speaks the same protocol by the same framework.
    fn space(self) -> &'static str {
        match self {
            Self::Validation => "com.amazon.coral.validate#",
            Self::Throttling | Self::ServiceUnavailable => "com.amazon.coral.availability#",
            _ => "com.amazon.coral.service#",
        }
    }

    /// Where the message stands. DynamoDB and Kinesis write these two with a capital; the SDKs read both.
    fn message_member(self) -> &'static str {
        match self {
            Self::AccessDenied | Self::Serialization => "Message",
            _ => "message",
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        let name = match refusal.reason {
            Reason::AccessDenied => Common::AccessDenied,
            Reason::IncompleteSignature => Common::IncompleteSignature,
            Reason::InvalidSignature => Common::InvalidSignature,
            Reason::MissingAuthenticationToken => Common::MissingAuthenticationToken,
            Reason::UnrecognizedClient => Common::UnrecognizedClient,
        };
        Self::common(name, refusal.message)
    }
}
