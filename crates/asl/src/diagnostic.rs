//! The problems of a definition as the operation `ValidateStateMachineDefinition` words them.

use everstep_source::{Diagnostic, ServiceForm};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ServiceCode {
    DuplicateLabelName,
    DuplicateStateName,
    InvalidJsonDescription,
    InvalidJsonataExpression,
    InvalidLabelName,
    InvalidStateName,
    InvalidVariableName,
    MissingEndState,
    MissingTransitionTarget,
    ReservedVariableName,
    SchemaValidationFailed,
    UnsupportedJsonataExpression,
}

impl ServiceCode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::DuplicateLabelName => "DUPLICATE_LABEL_NAME",
            Self::DuplicateStateName => "DUPLICATE_STATE_NAME",
            Self::InvalidJsonDescription => "INVALID_JSON_DESCRIPTION",
            Self::InvalidJsonataExpression => "INVALID_JSONATA_EXPRESSION",
            Self::InvalidLabelName => "INVALID_LABEL_NAME",
            Self::InvalidStateName => "INVALID_STATE_NAME",
            Self::InvalidVariableName => "INVALID_VARIABLE_NAME",
            Self::MissingEndState => "MISSING_END_STATE",
            Self::MissingTransitionTarget => "MISSING_TRANSITION_TARGET",
            Self::ReservedVariableName => "RESERVED_VARIABLE_NAME",
            Self::SchemaValidationFailed => "SCHEMA_VALIDATION_FAILED",
            Self::UnsupportedJsonataExpression => "UNSUPPORTED_JSONATA_EXPRESSION",
        }
    }
}

pub(crate) trait InServiceWords: Sized {
    /// The service's own words for it.
    #[must_use]
    fn service(self, message: impl Into<String>) -> Self;

    /// An error that the service has no words for is said in ours; advice is not said at all.
    #[must_use]
    fn or_in_our_words(self) -> Self;

    #[must_use]
    fn service_code(self, code: ServiceCode) -> Self;

    /// Where the service sees it, if elsewhere.
    #[must_use]
    fn service_location(self, location: Option<String>) -> Self;
}

impl InServiceWords for Diagnostic {
    fn service(mut self, message: impl Into<String>) -> Self {
        self.service = Some(ServiceForm {
            code: ServiceCode::SchemaValidationFailed.name(),
            message: message.into(),
            location: Some(self.place.service_location()),
        });
        self
    }

    fn or_in_our_words(self) -> Self {
        if self.service.is_some() || !self.is_error() {
            return self;
        }
        let message = self.message.clone();
        self.service(message)
    }

    fn service_code(self, code: ServiceCode) -> Self {
        let mut found = self.or_in_our_words();
        if let Some(form) = &mut found.service {
            form.code = code.name();
        }
        found
    }

    fn service_location(self, location: Option<String>) -> Self {
        let mut found = self.or_in_our_words();
        if let Some(form) = &mut found.service {
            form.location = location;
        }
        found
    }
}
