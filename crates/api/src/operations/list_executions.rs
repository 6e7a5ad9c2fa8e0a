//! `ListExecutions`: of a machine, or of those that were started through a version or an alias; latest
//! start first. (The service sorts those that are over by their end; a place in such a list would not
//! keep still while it is read.)

use everstep_runtime::{Bookmark, ListId, Standing, Summary};
use serde_json::{Value, json};

use super::describe_execution::{described, status};
use super::target::{self, invalid_arn};
use super::{Answer, start_sync_execution};
use crate::args::Args;
use crate::arn::{Arn, Kind, wrong_kind};
use crate::page;
use crate::protocol::{Error, Name};
use crate::service::{Service, engine_error};

/// Executions that one request looks at to find those that its filter lets pass.
const LOOKED_AT_MAX: usize = 10_000;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let list = list(service, args)?;
    let standing = standing(args)?;
    let from = match page::place(args, service.now_ms())? {
        None => None,
        Some(place) => Some(Bookmark::from_bytes(&place).ok_or_else(|| page::invalid(args))?),
    };
    let (found, next) = matching(service, args, list, standing, from)?;
    let executions: Result<Vec<Value>, Error> =
        found.iter().map(|summary| described(service, summary)).collect();
    let mut answer = json!({ "executions": executions? });
    if let Some(next) = next {
        answer["nextToken"] = page::token(args, &next.to_bytes(), service.now_ms()).into();
    }
    Ok(answer)
}

/// Pages of the list until enough are found, or too many were looked at: the service too says that a
/// page may hold fewer.
fn matching(
    service: &Service,
    args: Args<'_>,
    list: ListId,
    standing: Option<Standing>,
    mut from: Option<Bookmark>,
) -> Result<(Vec<Summary>, Option<Bookmark>), Error> {
    let redriven = args.text("redriveFilter").map(|filter| filter == "REDRIVEN");
    let (wanted, mut looked_at) = (args.page_size(), 0);
    let mut found = Vec::new();
    loop {
        let limit = wanted - found.len();
        let page = service.reader.list(list, standing, from, limit).map_err(engine_error)?;
        looked_at += page.executions.len();
        let passes =
            |summary: &Summary| redriven.is_none_or(|redriven| (summary.redrives > 0) == redriven);
        found.extend(page.executions.into_iter().filter(passes));
        from = page.next;
        if from.is_none() || found.len() == wanted || looked_at >= LOOKED_AT_MAX {
            return Ok((found, from));
        }
    }
}

fn list(service: &Service, args: Args<'_>) -> Result<ListId, Error> {
    match (args.text("stateMachineArn"), args.text("mapRunArn")) {
        (Some(arn), None) => {
            let named = target::named(service, args, arn)?;
            if named.express {
                return Err(start_sync_execution::wrong_type(args));
            }
            Ok(ListId::of(arn))
        }
        (None, Some(arn)) => Err(no_map_run(args, arn)),
        // The service's own words are not known.
        _ => Err(args
            .error(
                Name::ValidationException,
                "Exactly one of stateMachineArn and mapRunArn must be specified",
            )
            .with("reason", "MISSING_REQUIRED_PARAMETER")),
    }
}

fn no_map_run(args: Args<'_>, arn: &str) -> Error {
    match Arn::parse(arn) {
        Err(wrong) => invalid_arn(args, wrong.0),
        Ok(Arn { kind: Kind::MapRun { .. }, .. }) => args
            .error(Name::ResourceNotFound, format!("Resource not found: '{arn}'"))
            .with("resourceName", arn),
        Ok(_) => invalid_arn(args, wrong_kind(arn)),
    }
}

fn standing(args: Args<'_>) -> Result<Option<Standing>, Error> {
    let Some(wanted) = args.text("statusFilter") else { return Ok(None) };
    let found = Standing::ALL.into_iter().find(|standing| status(*standing) == wanted);
    match found {
        Some(standing) => Ok(Some(standing)),
        // PENDING_REDRIVE, which only the children of a Map Run can be. The words are a guess.
        None => {
            let message = format!("statusFilter {wanted} can only be used with mapRunArn");
            Err(args.error(Name::ValidationException, message))
        }
    }
}
