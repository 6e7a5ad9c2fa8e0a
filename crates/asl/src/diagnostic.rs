//! What is wrong with a definition: which rule, where, why, and what to do.

use everstep_source::{Place, Severity, Span};

use crate::rule::Rule;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub rule: Rule,
    pub severity: Severity,
    pub span: Span,
    /// The value, or the object that lacks something.
    pub place: Place,
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What to write in place of the span, where that is known.
    pub replacement: Option<String>,
    /// The same problem as the service words it; none for what the service lets pass.
    pub service: Option<ServiceForm>,
}

/// A diagnostic of `ValidateStateMachineDefinition`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceForm {
    pub code: ServiceCode,
    pub message: String,
    /// Absent where the service gives none.
    pub location: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceCode {
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
    #[must_use]
    pub fn name(self) -> &'static str {
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

impl Diagnostic {
    /// An error has a service form, in our words until [`Self::service`] gives the service's own;
    /// advice has none.
    pub fn new(rule: Rule, span: Span, place: Place, message: impl Into<String>) -> Self {
        let message = message.into();
        let severity = rule.severity();
        let service = (severity == Severity::Error).then(|| ServiceForm {
            code: ServiceCode::SchemaValidationFailed,
            message: message.clone(),
            location: Some(place.service_location()),
        });
        Self { rule, severity, span, place, message, hint: None, replacement: None, service }
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn hint_if(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    /// "did you mean": the span can be replaced by this.
    #[must_use]
    pub fn did_you_mean(mut self, suggestion: Option<&str>) -> Self {
        if let Some(suggestion) = suggestion {
            self.hint = Some(format!("did you mean `{suggestion}`?"));
            self.replacement = Some(suggestion.to_owned());
        }
        self
    }

    /// The service's own words for it.
    #[must_use]
    pub fn service(mut self, message: impl Into<String>) -> Self {
        self.service = Some(ServiceForm {
            code: ServiceCode::SchemaValidationFailed,
            message: message.into(),
            location: Some(self.place.service_location()),
        });
        self
    }

    #[must_use]
    pub fn service_code(mut self, code: ServiceCode) -> Self {
        if let Some(form) = &mut self.service {
            form.code = code;
        }
        self
    }

    /// Where the service sees it, if elsewhere.
    #[must_use]
    pub fn service_location(mut self, location: Option<String>) -> Self {
        if let Some(form) = &mut self.service {
            form.location = location;
        }
        self
    }

    #[must_use]
    pub fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
