//! `--dialect` of the commands that read a definition.

use clap::ValueEnum;
use everstep_asl::Dialect;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// The Amazon States Language specification
    #[default]
    Spec,
    /// AWS Step Functions
    Aws,
}

impl From<DialectName> for Dialect {
    fn from(name: DialectName) -> Self {
        match name {
            DialectName::Spec => Self::Spec,
            DialectName::Aws => Self::Aws,
        }
    }
}
