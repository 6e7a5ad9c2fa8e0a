//! Lists of executions, and the overview.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use everstep_console::pages::executions::{Executions, Filter, Row, STATUSES};
use everstep_console::pages::overview::Overview;
use everstep_console::{Page, pages};
use everstep_executions::{Bookmark, ListId, Standing, Summary};
use everstep_expr::timestamp;
use everstep_history::Event;

use super::super::answer::Failure;
use super::super::form::Form;
use super::{blocking, functions, machines, machines_after, names, standing};
use crate::http::handler::Gateway;
use crate::service::{Service, engine_error};

const PAGE: usize = 50;
/// Machines whose executions are merged into one list: each costs some reads.
pub(super) const MERGED_MAX: usize = 50;
/// Names to choose from.
const NAMES_MAX: usize = 500;
const DAY_MS: i64 = 24 * 60 * 60 * 1000;

pub(super) async fn list(gateway: &Arc<Gateway>, query: &Form) -> Result<Page, Failure> {
    let filter = Filter {
        machine: query.text("machine").to_owned(),
        status: query.text("status").to_owned(),
        until: query.text("until").to_owned(),
        after: query.text("after").to_owned(),
    };
    let page = blocking(gateway, move |service| listed(service, filter)).await?;
    Ok(pages::executions::page(&page))
}

fn listed(service: &Service, filter: Filter) -> Result<Executions, Failure> {
    let all = machines_after(service, None, NAMES_MAX)?;
    let names: Vec<String> =
        all.iter().filter(|one| !one.express).map(|one| one.name.clone()).collect();
    let mut page =
        Executions { filter, machines: names, rows: Vec::new(), next: None, obstacle: None };
    let lists: Vec<ListId> = match page.filter.machine.as_str() {
        "" if page.machines.len() > MERGED_MAX => {
            page.obstacle = Some("There are many state machines here: choose one".to_owned());
            return Ok(page);
        }
        "" => page.machines.iter().map(|name| list_of(service, name)).collect(),
        name => vec![list_of(service, name)],
    };
    let from = match (page.filter.after.as_str(), page.filter.until.as_str()) {
        ("", "") => None,
        ("", until) => Some(Bookmark::until(moment(until)?)),
        (after, _) => Some(bookmark(after)?),
    };
    let standing = STATUSES.iter().position(|(name, _)| *name == page.filter.status);
    let standing = standing.map(|at| Standing::ALL[at]);
    let found = service.reader.list_of(&lists, standing, from, PAGE).map_err(engine_error)?;
    page.next = found.next.map(|next| URL_SAFE_NO_PAD.encode(next.to_bytes()));
    page.rows = found.executions.iter().map(|one| row(service, one)).collect();
    Ok(page)
}

pub(super) fn list_of(service: &Service, machine: &str) -> ListId {
    ListId::of(&service.machine_arn(machine))
}

fn bookmark(text: &str) -> Result<Bookmark, Failure> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok();
    let found = bytes.and_then(|bytes| Bookmark::from_bytes(&bytes));
    found.ok_or_else(|| Failure::not_found("There is no such page of this list."))
}

/// `2026-11-16T09:30`, as a browser's field for times has it.
fn moment(text: &str) -> Result<i64, Failure> {
    let seconds = if text.len() == 16 { ":00" } else { "" };
    let parsed = timestamp::parse(&format!("{text}{seconds}Z"));
    parsed
        .map(|moment| moment.to_millis())
        .map_err(|_| Failure::not_found(format!("'{text}' is not a date: use 2026-11-16T09:30.")))
}

/// An execution in a list, with why it failed.
pub(super) fn row(service: &Service, summary: &Summary) -> Row {
    let (machine, name) = names(&summary.arn);
    let failed = !matches!(summary.standing, Standing::Running | Standing::Succeeded);
    Row {
        machine: machine.to_owned(),
        name: name.to_owned(),
        standing: standing(summary.standing),
        started_ms: summary.started_ms,
        ended_ms: summary.stopped_ms,
        error: failed.then(|| error(service, summary)).flatten(),
        redrives: summary.redrives,
    }
}

/// The error of an execution that has ended; nothing if it cannot be read.
fn error(service: &Service, summary: &Summary) -> Option<String> {
    let (_, last) = service.reader.first_and_last(summary).ok().flatten()?;
    last.iter().rev().find_map(|event| match event {
        Event::ExecutionFailed { failure, .. } | Event::ExecutionAborted { failure, .. } => {
            failure.error.as_deref().map(str::to_owned)
        }
        _ => None,
    })
}

/// Executions of one kind that the overview counts.
const COUNTED_MAX: usize = 100;

pub(super) async fn overview(gateway: &Arc<Gateway>) -> Result<Page, Failure> {
    let functions = functions::all(gateway);
    let dead_letters = functions::groups(gateway).await?.0;
    let now_ms = gateway.service.now_ms();
    let mut of = blocking(gateway, move |service| {
        let mut all = machines_after(service, None, MERGED_MAX + 1)?;
        let has_more_machines = all.len() > MERGED_MAX;
        all.truncate(MERGED_MAX);
        let standard = all.iter().filter(|one| !one.express);
        let lists: Vec<ListId> = standard.map(|one| list_of(service, &one.name)).collect();
        let latest = |standing: Standing, limit: usize| {
            service.reader.list_of(&lists, Some(standing), None, limit).map_err(engine_error)
        };
        let running = latest(Standing::Running, COUNTED_MAX)?;
        let failed = latest(Standing::Failed, COUNTED_MAX)?;
        let has_more_failed = failed.next.is_some();
        let failed = failed
            .executions
            .into_iter()
            .filter(|one| one.stopped_ms.is_some_and(|ms| now_ms - ms < DAY_MS));
        let failed: Vec<Row> = failed.map(|one| row(service, &one)).collect();
        Ok(Overview {
            machines: all
                .iter()
                .map(|one| machines::summary(service, one))
                .collect::<Result<_, _>>()?,
            has_more_machines,
            functions: &[],
            has_more_failed: has_more_failed && failed.len() == COUNTED_MAX,
            failed,
            has_more_running: running.next.is_some(),
            running: running.executions.iter().map(|one| row(service, one)).collect(),
            dead_letters: Vec::new(),
            failure: service.failure(),
        })
    })
    .await?;
    of.functions = &functions;
    of.dead_letters = dead_letters;
    Ok(pages::overview::page(&of))
}
