//! `ValidateStateMachineDefinition`.

use super::Answer;
use crate::args::Args;
use crate::definition;
use crate::service::Service;

/// As many diagnostics as an answer holds.
const MOST: usize = 100;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let express = args.text("type") == Some("EXPRESS");
    let warnings = args.text("severity") == Some("WARNING");
    let most = args.number("maxResults").and_then(|most| usize::try_from(most).ok());
    let most = most.filter(|most| *most > 0).unwrap_or(MOST);
    let definition = args.required("definition").to_owned();
    let dialect = service.environment.dialect;
    let validate = move || definition::validated(&definition, express, dialect, warnings, most);
    service.definition_turns.run(validate).await
}
