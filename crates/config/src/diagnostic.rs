//! What is wrong with a configuration: where, why, and what to do.

use std::fmt;

use everstep_asl::{Place, Severity, Span};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Index into the files that were read.
    pub file: usize,
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
}

macro_rules! rules {
    ($($variant:ident, $name:literal, $severity:ident;)*) => {
        /// What a configuration is checked against. The names that the rules of definitions have too
        /// mean the same there.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Rule { $($variant),* }

        impl Rule {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),* }
            }

            #[must_use]
            pub fn severity(self) -> Severity {
                match self { $(Self::$variant => Severity::$severity),* }
            }
        }
    };
}

rules! {
    InvalidDocument, "invalid-document", Error;
    UnreadableFile, "unreadable-file", Error;
    DuplicateField, "duplicate-field", Error;
    DuplicateName, "duplicate-name", Error;
    RequiredField, "required-field", Error;
    UnknownField, "unknown-field", Error;
    MisplacedField, "misplaced-field", Error;
    ExclusiveFields, "exclusive-fields", Error;
    WrongType, "wrong-type", Error;
    UnknownValue, "unknown-value", Error;
    EmptyValue, "empty-value", Error;
    OutOfRange, "out-of-range", Error;
    InvalidName, "invalid-name", Error;
    InvalidDuration, "invalid-duration", Error;
    InvalidTarget, "invalid-target", Error;
    UnknownReference, "unknown-reference", Error;
    MissingVariable, "missing-variable", Error;
    NotSupported, "not-supported", Error;
    UnreachableRule, "unreachable-rule", Warning;
    BeyondService, "beyond-service", Warning;
    IgnoredSetting, "ignored-setting", Warning;
    InvalidHandler, "invalid-handler", Warning;
    UnservedQueue, "unserved-queue", Warning;
    EndlessChain, "endless-chain", Warning;
    UnknownFunction, "unknown-function", Warning;
    MissingCompensation, "missing-compensation", Warning;
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Diagnostic {
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// "did you mean": the span can be replaced by this.
    pub(crate) fn did_you_mean(mut self, suggestion: Option<&str>) -> Self {
        if let Some(suggestion) = suggestion {
            self.hint = Some(format!("did you mean `{suggestion}`?"));
            self.replacement = Some(suggestion.to_owned());
        }
        self
    }
}
