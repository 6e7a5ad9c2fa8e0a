//! `cargo xtask kills`: a real server that is killed at random moments, under one load with all that is durable.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;

use crate::aws::Place;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How often the server is killed
    #[arg(long, default_value_t = 200)]
    count: u32,
    /// Draws the moments
    #[arg(long, default_value_t = 200)]
    seed: u64,
    /// Another build of the server
    #[arg(long, env = "EVERSTEP_BINARY")]
    binary: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let place = match &arguments.binary {
        Some(binary) => Place::with(std::path::absolute(binary)?)?,
        None => Place::prepare()?,
    };
    let (count, seed) = (arguments.count.to_string(), arguments.seed.to_string());
    let options = ["-rP", "--tb=short", "--count", &count, "--seed", &seed];
    let passed = place.pytest("kills", &options, &[])?;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
