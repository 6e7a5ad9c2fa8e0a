//! `--dialect` of the commands that read a definition.

use clap::ValueEnum;
use everstep_asl::Dialect;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectName {
    /// The States Language as it is specified
    #[default]
    Spec,
    /// The service as it behaves
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
