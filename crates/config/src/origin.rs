//! Where a setting comes from, for those who ask why.

use std::fmt;

/// A value, and where it was set.
#[derive(Debug, Clone, PartialEq)]
pub struct Given<T> {
    pub value: T,
    pub origin: Origin,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    BuiltIn,
    /// `defaults` of the configuration.
    Defaults(Line),
    /// Its own setting.
    Own(Line),
    /// `EventInvokeConfig` of the function.
    EventInvokeConfig(Line),
    /// The `function.json` that the function names.
    FunctionJson(Line),
    /// The `host.json` that the configuration names.
    HostJson(Line),
}

/// A line of a file, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    pub file: String,
    pub line: usize,
}

impl<T> Given<T> {
    pub(crate) fn built_in(value: T) -> Self {
        Self { value, origin: Origin::BuiltIn }
    }
}

impl Origin {
    #[must_use]
    pub fn line(&self) -> Option<&Line> {
        match self {
            Self::BuiltIn => None,
            Self::Defaults(line)
            | Self::Own(line)
            | Self::EventInvokeConfig(line)
            | Self::FunctionJson(line)
            | Self::HostJson(line) => Some(line),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("built-in default"),
            Self::Defaults(line) => write!(f, "{line} (defaults)"),
            Self::EventInvokeConfig(line) => write!(f, "{line} (EventInvokeConfig)"),
            Self::Own(line) | Self::FunctionJson(line) | Self::HostJson(line) => line.fmt(f),
        }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
