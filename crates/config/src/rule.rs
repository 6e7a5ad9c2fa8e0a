//! Every rule a configuration is checked against, by name.

use everstep_source::Severity;

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
    InvalidSchedule, "invalid-schedule", Error;
    UnknownReference, "unknown-reference", Error;
    MissingVariable, "missing-variable", Error;
    EndlessReference, "endless-reference", Error;
    NotSupported, "not-supported", Error;
    UnreachableRule, "unreachable-rule", Warning;
    BeyondService, "beyond-service", Warning;
    IgnoredSetting, "ignored-setting", Warning;
    BothDays, "both-days", Warning;
    InvalidHandler, "invalid-handler", Warning;
    EndlessChain, "endless-chain", Warning;
    UnknownFunction, "unknown-function", Warning;
    MissingCompensation, "missing-compensation", Warning;
    MissingParameter, "missing-parameter", Warning;
    UnavailableResource, "unavailable-resource", Warning;
}

everstep_source::impl_rule!(Rule);
