//! `ListExecutions`: of a machine, or of those that were started through a version or an alias; latest
//! start first. (The service sorts those that are over by their end; a place in such a list would not
//! keep still while it is read.)

use everstep_api::protocol::{Error, Name};
use everstep_executions::{Bookmark, ListId, Standing, Summary};
use serde_json::{Value, json};

use super::describe_execution::{described, status};
use super::start_execution::label;
use super::target;
use super::{Answer, describe_map_run, page, start_sync_execution};
use crate::args::Args;
use crate::map_run::{Found, ITEMS, Status};
use crate::service::{Service, engine_error};

/// Executions that one request looks at to find those that its filter lets pass.
const LOOKED_AT_MAX: usize = 10_000;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let (list, run) = list(service, args)?;
    let standing = standing(args)?;
    let from = match page::position(service, args)? {
        None => None,
        Some(place) => Some(Bookmark::from_bytes(&place).ok_or_else(|| page::invalid(args))?),
    };
    let redriven_ms = run.and_then(|run| run.record.redriven_ms);
    let (found, next) = matching(service, args, (list, redriven_ms), standing, from)?;
    let executions: Result<Vec<Value>, Error> =
        found.iter().map(|summary| listed(service, summary, redriven_ms)).collect();
    let mut answer = json!({ "executions": executions? });
    if let Some(next) = next {
        answer["nextToken"] = page::token(service, args, &next.to_bytes()).into();
    }
    Ok(answer)
}

/// Pages of the list until enough are found, or too many were looked at: the service too says that a
/// page may hold fewer.
fn matching(
    service: &Service,
    args: Args<'_>,
    (list, redriven_ms): (ListId, Option<i64>),
    standing: Option<Standing>,
    mut from: Option<Bookmark>,
) -> Result<(Vec<Summary>, Option<Bookmark>), Error> {
    let redriven = args.text("redriveFilter").map(|filter| filter == "REDRIVEN");
    let pending = args.text("statusFilter") == Some(PENDING_REDRIVE);
    let (wanted, mut looked_at) = (args.page_size(), 0);
    let mut found = Vec::new();
    loop {
        let limit = wanted - found.len();
        let page = service.reader.list(list, standing, from, limit).map_err(engine_error)?;
        looked_at += page.executions.len();
        let passes = |summary: &Summary| {
            redriven.is_none_or(|redriven| (summary.redrives > 0) == redriven)
                && (!pending || is_pending(summary, redriven_ms))
        };
        found.extend(page.executions.into_iter().filter(passes));
        from = page.next;
        if from.is_none() || found.len() == wanted || looked_at >= LOOKED_AT_MAX {
            return Ok((found, from));
        }
    }
}

const PENDING_REDRIVE: &str = "PENDING_REDRIVE";

/// Whether a child of a Map Run waits until the redrive of the run reaches it.
fn is_pending(summary: &Summary, redriven_ms: Option<i64>) -> bool {
    let unsuccessful = !matches!(summary.standing, Standing::Running | Standing::Succeeded);
    let earlier =
        summary.stopped_ms.zip(redriven_ms).is_some_and(|(stop, redrive)| stop <= redrive);
    unsuccessful && earlier
}

fn listed(service: &Service, summary: &Summary, redriven_ms: Option<i64>) -> Answer {
    let mut shown = described(service, summary)?;
    if let Some(items) = label(summary, ITEMS).and_then(|items| items.parse::<u64>().ok()) {
        shown["itemCount"] = items.into();
    }
    if is_pending(summary, redriven_ms) {
        shown["status"] = PENDING_REDRIVE.into();
    }
    Ok(shown)
}

/// What is listed, and the Map Run if it is the children of one.
fn list(service: &Service, args: Args<'_>) -> Result<(ListId, Option<Found>), Error> {
    match (args.text("stateMachineArn"), args.text("mapRunArn")) {
        (Some(arn), None) => {
            let named = target::named(service, args, arn)?;
            if named.express {
                return Err(start_sync_execution::wrong_type(args));
            }
            Ok((ListId::of(arn), None))
        }
        (None, Some(arn)) => {
            let run = describe_map_run::find(service, args, arn)?;
            Ok((ListId::of(arn), Some(run).filter(|run| run.record.status == Status::Running)))
        }
        // The service's own words are not known.
        _ => Err(args
            .error(
                Name::ValidationException,
                "Exactly one of stateMachineArn and mapRunArn must be specified",
            )
            .with("reason", "MISSING_REQUIRED_PARAMETER")),
    }
}

fn standing(args: Args<'_>) -> Result<Option<Standing>, Error> {
    let Some(wanted) = args.text("statusFilter") else { return Ok(None) };
    let found = Standing::ALL.into_iter().find(|standing| status(*standing) == wanted);
    match found {
        Some(standing) => Ok(Some(standing)),
        None if args.text("mapRunArn").is_some() => Ok(None),
        // PENDING_REDRIVE, which only the children of a Map Run can be. The words are a guess.
        None => {
            let message = format!("statusFilter {wanted} can only be used with mapRunArn");
            Err(args.error(Name::ValidationException, message))
        }
    }
}
