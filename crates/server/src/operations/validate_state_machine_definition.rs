//! `ValidateStateMachineDefinition`.

use super::Answer;
use crate::args::Args;
use crate::definition;

/// As many diagnostics as an answer holds.
const MOST: usize = 100;

pub(super) fn run(args: Args<'_>) -> Answer {
    let express = args.text("type") == Some("EXPRESS");
    let warnings = args.text("severity") == Some("WARNING");
    let most = args.number("maxResults").and_then(|most| usize::try_from(most).ok());
    let most = most.filter(|most| *most > 0).unwrap_or(MOST);
    Ok(definition::validated(args.required("definition"), express, warnings, most))
}
