//! Paths next to Jayway's answers.

use std::path::Path;
use std::process::ExitCode;

pub(crate) fn run(_file: &Path) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::FAILURE)
}
