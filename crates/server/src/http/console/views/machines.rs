//! State machines.

use std::sync::Arc;

use everstep_console::pages::executions::Row;
use everstep_console::pages::machines::{Machine, Summary};
use everstep_console::{Data, Page, pages};
use everstep_history::Event;

use super::super::answer::Failure;
use super::executions::{list_of, row};
use super::{blocking, execution_arn, machine, machines_after};
use crate::catalog;
use crate::http::handler::Gateway;
use crate::service::{Service, engine_error};

const PAGE: usize = 50;
/// Executions that a list shows of each machine, and the page of a machine of its own.
const STRIP: usize = 12;
const LATEST: usize = 10;

/// What a user has typed into the form, and why it was refused.
pub(in super::super) struct Typed {
    pub(in super::super) input: String,
    pub(in super::super) name: String,
    pub(in super::super) refused: Option<String>,
}

pub(super) async fn list(gateway: &Arc<Gateway>, after: Option<&str>) -> Result<Page, Failure> {
    let after = after.map(str::to_owned);
    let (machines, more) = blocking(gateway, move |service| {
        let mut all = machines_after(service, after.as_deref(), PAGE + 1)?;
        let has_more = all.len() > PAGE;
        all.truncate(PAGE);
        let more = all.last().filter(|_| has_more).map(|last| last.name.clone());
        let machines: Result<Vec<Summary>, Failure> =
            all.iter().map(|one| summary(service, one)).collect();
        Ok((machines?, more))
    })
    .await?;
    Ok(pages::machines::list(&machines, more.as_deref()))
}

pub(super) fn summary(service: &Service, machine: &catalog::Machine) -> Result<Summary, Failure> {
    Ok(Summary {
        name: machine.name.clone(),
        is_express: machine.express,
        created_ms: machine.created_ms,
        latest: if machine.express { Vec::new() } else { latest(service, &machine.name, STRIP)? },
    })
}

fn latest(service: &Service, machine: &str, limit: usize) -> Result<Vec<Row>, Failure> {
    let list = list_of(service, machine);
    let page = service.reader.list(list, None, None, limit).map_err(engine_error)?;
    Ok(page.executions.iter().map(|one| row(service, one)).collect())
}

pub(in super::super) async fn page(
    gateway: &Arc<Gateway>,
    name: &str,
    from: Option<&str>,
    typed: Option<Typed>,
) -> Result<Page, Failure> {
    let found = machine(&gateway.service, name)?.value;
    let prepared = gateway.service.prepared(&found, &found.settings).await.map_err(engine_error)?;
    let source = from.map(|from| execution_arn(gateway, name, from));
    let (own, is_express) = (name.to_owned(), found.express);
    let (latest, input) = blocking(gateway, move |service| {
        let latest = if is_express { Vec::new() } else { latest(service, &own, LATEST)? };
        let input = source.map(|arn| input_of(service, &arn)).transpose()?;
        Ok((latest, input.flatten()))
    })
    .await?;
    let definition = &*prepared.program.machine;
    let refused = typed.as_ref().and_then(|typed| typed.refused.as_deref());
    let execution_name = typed.as_ref().map_or("", |typed| typed.name.as_str());
    let input_from = from.filter(|_| input.is_some());
    let input = typed.as_ref().map(|typed| typed.input.clone()).or(input);
    Ok(pages::machines::page(&Machine {
        name: &found.name,
        arn: &found.arn,
        is_express: found.express,
        created_ms: found.created_ms,
        comment: definition.comment.as_deref(),
        role_arn: &found.settings.role_arn,
        definition,
        text: Data::new(prepared.revision.definition.as_str()),
        latest,
        input: input.unwrap_or_else(|| "{}".to_owned()),
        input_from,
        refused,
        execution_name,
    }))
}

/// The input of an execution, indented.
fn input_of(service: &Service, arn: &str) -> Result<Option<String>, Failure> {
    let Some(summary) = super::summary(service, arn)? else { return Ok(None) };
    let steps = service.reader.first_and_last(&summary).map_err(engine_error)?;
    let events = steps.map(|(first, _)| first).unwrap_or_default();
    Ok(events.iter().find_map(|event| match event {
        Event::ExecutionStarted { input, .. } => Some(format!("{:#}", input.value())),
        _ => None,
    }))
}
