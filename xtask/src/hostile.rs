//! `cargo xtask hostile`: definitions that mean harm, against a real server with innocent clients beside.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::aws::Place;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Only a dozen representative cases, on all routes
    #[arg(long, conflicts_with = "measure")]
    short: bool,
    /// Measure innocent executions alone and beside eight hostile ones instead
    #[arg(long)]
    measure: bool,
    /// Only cases whose name contains this
    #[arg(long)]
    only: Option<String>,
    /// Another build of the server; a release build of this tree without it
    #[arg(long, env = "EVERSTEP_BINARY")]
    binary: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let place = match &arguments.binary {
        Some(binary) => Place::with(std::path::absolute(binary)?)?,
        // What an expression or a step costs is only what users see in a release build.
        None => Place::released()?,
    };
    let passed = place.pytest("hostile", &arguments.options(), &[])?;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Arguments {
    fn options(&self) -> Vec<&str> {
        let mut options = vec!["--tb=short"];
        options.extend(self.short.then_some("--short"));
        options.extend(self.measure.then_some("--measure"));
        if let Some(only) = &self.only {
            options.extend(["-k", only]);
        }
        options
    }
}
