//! Why a request is refused, with the messages of AWS.

use std::fmt;

/// A request that is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub reason: Reason,
    pub message: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The caller is known but not allowed. Not used here: it is for code that knows permissions.
    AccessDenied,
    IncompleteSignature,
    InvalidSignature,
    MissingAuthenticationToken,
    UnrecognizedClient,
}

impl Reason {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccessDenied => "AccessDeniedException",
            Self::IncompleteSignature => "IncompleteSignatureException",
            Self::InvalidSignature => "InvalidSignatureException",
            Self::MissingAuthenticationToken => "MissingAuthenticationTokenException",
            Self::UnrecognizedClient => "UnrecognizedClientException",
        }
    }
}

impl Refusal {
    #[must_use]
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    /// What services that speak REST answer (Lambda); those that speak JSON answer 400.
    #[must_use]
    pub fn rest_status(&self) -> u16 {
        403
    }

    pub(super) fn incomplete(message: impl Into<String>) -> Self {
        Self::new(Reason::IncompleteSignature, message)
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Reason::InvalidSignature, message)
    }

    pub(super) fn unrecognized() -> Self {
        let message = "The security token included in the request is invalid.";
        Self::new(Reason::UnrecognizedClient, message)
    }

    pub(super) fn mismatch() -> Self {
        Self::invalid(
            "The request signature we calculated does not match the signature you provided. Check your \
             AWS Secret Access Key and signing method. Consult the service documentation for details.",
        )
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason.as_str(), self.message)
    }
}

impl std::error::Error for Refusal {}
