//! What is wrong with a document: which rule, where, why, and what to do.

use crate::{Place, Severity, Span};

/// Something that documents are checked against.
pub trait Rule: Copy {
    /// Its name: `unknown-field`.
    fn code(self) -> &'static str;
    fn severity(self) -> Severity;
}

/// Makes an enum with `name` and `severity` a [`Rule`] that is shown by its name.
#[macro_export]
macro_rules! impl_rule {
    ($rule:ty) => {
        impl $crate::Rule for $rule {
            fn code(self) -> &'static str {
                self.name()
            }

            fn severity(self) -> $crate::Severity {
                <$rule>::severity(self)
            }
        }

        impl std::fmt::Display for $rule {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The name of the rule.
    pub code: &'static str,
    pub severity: Severity,
    /// Index of the file among those that were read.
    pub file: usize,
    pub span: Span,
    /// The value, or the object that lacks something.
    pub place: Place,
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What to write in place of the span, where that is known.
    pub replacement: Option<String>,
    /// The same problem in the words of AWS; none for what AWS accepts or does not know.
    pub service: Option<ServiceForm>,
}

/// A diagnostic as an AWS service words it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceForm {
    pub code: &'static str,
    pub message: String,
    /// Absent where the service gives none.
    pub location: Option<String>,
}

impl Diagnostic {
    pub fn new(rule: impl Rule, span: Span, place: Place, message: impl Into<String>) -> Self {
        Self {
            code: rule.code(),
            severity: rule.severity(),
            file: 0,
            span,
            place,
            message: message.into(),
            hint: None,
            replacement: None,
            service: None,
        }
    }

    /// In another file than the first.
    #[must_use]
    pub fn in_file(mut self, file: usize) -> Self {
        self.file = file;
        self
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

    /// "Did you mean": the span can be replaced by this.
    #[must_use]
    pub fn did_you_mean(mut self, suggestion: Option<&str>) -> Self {
        if let Some(suggestion) = suggestion {
            self.hint = Some(format!("did you mean `{suggestion}`?"));
            self.replacement = Some(suggestion.to_owned());
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

    /// Whether it is a problem of this rule.
    #[must_use]
    pub fn is(&self, rule: impl Rule) -> bool {
        self.code == rule.code()
    }
}
