//! What a server leaves to whoever starts it: where its lines go, and how a configuration is checked and its
//! problems are shown.

use std::path::Path;
use std::sync::Arc;

use everstep_interpreter::Dialect;

use super::error::Result;
use super::project::Project;
use crate::test_case::TestCases;

pub trait Frontend: Send + Sync {
    /// Writes lines for people. Called from many threads; may be slow, may not fail.
    fn write(&self, text: &str);

    /// Reads and checks the configuration at a path: a file, or the folder that holds it. All problems have been
    /// shown then. Nothing if it has errors other than those of definitions. Called at the start, and whenever a file
    /// of the project changes.
    fn project(&self, path: &Path, server: ServedBy) -> Result<Option<Project>>;

    /// Reads a mock file of AWS Step Functions Local. Called once, at the start.
    fn test_cases(&self, mock_file: &Path) -> Result<Arc<dyn TestCases>>;

    /// Ends the process. Called when a user does not want to wait until a server has stopped in order.
    fn interrupted(&self) -> !;
}

/// What a configuration is checked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServedBy {
    pub others: Others,
    /// Of machines that set none.
    pub dialect: Dialect,
}

/// Where functions run that the configuration does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    Nowhere,
    /// At an endpoint of Lambda.
    Elsewhere,
}
