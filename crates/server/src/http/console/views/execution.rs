//! The page of an execution.

use std::sync::Arc;

use everstep_console::pages::execution::{Events, Execution, Payloads, Tab, selected};
use everstep_console::{Data, Page, pages, url};
use everstep_drivers::map_run::MAP_RUN;
use everstep_executions::{Prepared, Summary};
use everstep_graph::definition;
use everstep_history::{Event, Payload};
use everstep_story::{EventPlace, Standing, Story};
use serde_json::Value;

use super::super::answer::Failure;
use super::super::form::Form;
use super::{execution_arn, names};
use crate::histories::id;
use crate::http::handler::Gateway;
use crate::operations::describe_execution::{description, redrive_status};
use crate::operations::describe_story::actions_on;
use crate::operations::start_execution::label;
use crate::service::{Service, engine_error};

/// Events of one window.
const EVENTS: usize = 200;
/// Events that one request looks at to find failures.
const SCANNED_MAX: usize = 5000;

/// What the query asks for.
struct Asked {
    visit: Option<usize>,
    place: Option<String>,
    tab: String,
    from: String,
    only_failures: bool,
}

fn find(gateway: &Gateway, machine: &str, name: &str) -> Result<Summary, Failure> {
    let arn = execution_arn(gateway, machine, name);
    let found = super::summary(&gateway.service, &arn)?;
    let missing = || Failure::not_found(format!("There is no execution '{name}' of '{machine}'."));
    found.ok_or_else(missing)
}

pub(super) async fn page(
    gateway: &Arc<Gateway>,
    machine: &str,
    name: &str,
    query: &Form,
) -> Result<Page, Failure> {
    let summary = find(gateway, machine, name)?;
    let asked = Asked {
        visit: query.number("visit"),
        place: query.some("state").map(str::to_owned),
        tab: query.text("tab").to_owned(),
        from: query.text("from").to_owned(),
        only_failures: query.text("only") == "failed",
    };
    let service = gateway.service.clone();
    let turns = &gateway.service.history_turns;
    turns.run(move || filled(&service, &summary, &asked)).await?
}

/// Reads what the page shows, and makes the page.
fn filled(service: &Service, summary: &Summary, asked: &Asked) -> Result<Page, Failure> {
    let prepared = service.reader.prepared(summary).map_err(engine_error)?;
    let described = description(service, summary, true)?;
    let tab = tab(service, summary, &prepared, &described, asked)?;
    let now_ms = service.now_ms();
    let look =
        |story: &Story| made(service, summary, &prepared, &described, asked, tab, now_ms, story);
    service.stories.read(summary, now_ms, look).map_err(engine_error)?
}

#[expect(clippy::too_many_arguments, reason = "what a page consists of")]
fn made(
    service: &Service,
    summary: &Summary,
    prepared: &Prepared,
    described: &Value,
    asked: &Asked,
    tab: Tab,
    now_ms: i64,
    story: &Story,
) -> Result<Page, Failure> {
    let (machine, name) = names(&summary.arn);
    let program = &prepared.program.machine;
    let visit = selected(story, asked.visit, asked.place.as_deref());
    let actions = actions_on(service, summary, story.standing())?;
    let (_, obstacle) = redrive_status(service, summary)?;
    let is_over = !matches!(story.standing(), Standing::Running | Standing::Succeeded);
    let detail = visit.and_then(|visit| detail(program, &story.visits()[visit].place));
    let text = |member: &str| described[member].as_str();
    let report = story.report();
    Ok(pages::execution::page(&Execution {
        machine,
        name,
        arn: &summary.arn,
        address: url::execution(machine, name),
        started_ms: summary.started_ms,
        now_ms,
        redrives: summary.redrives,
        redrive_obstacle: obstacle.filter(|_| is_over),
        error: text("error"),
        cause: text("cause"),
        timeout_seconds: program.timeout_seconds,
        parent: parent(summary),
        definition: program,
        story,
        report: &report,
        actions: &actions,
        selected: visit,
        detail: detail.as_deref(),
        payloads: payloads(service, summary, story, visit)?,
        tab,
    }))
}

/// The execution whose Map Run started this one.
fn parent(summary: &Summary) -> Option<(String, String)> {
    let run = label(summary, MAP_RUN)?;
    // arn:aws:states:REGION:ACCOUNT:mapRun:MACHINE/LABEL:ID
    let (of, _) = names(run);
    let machine = of.split('/').next()?;
    Some((format!("a Map Run of {machine}"), url::machine(machine)))
}

/// What the state of a place does: `lambda: charge-customer`.
fn detail(machine: &everstep_asl::Machine, place: &str) -> Option<String> {
    let (first, rest) = match place.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (place, None),
    };
    let (name, branch) = match first.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((name, index)) if rest.is_some() => (name, index.parse::<usize>().ok()),
        _ => (first, None),
    };
    let state = machine.states.iter().find(|state| &*state.name == name)?;
    let Some(rest) = rest else { return definition::detail(state) };
    match &state.kind {
        everstep_asl::model::Kind::Parallel(parallel) => {
            detail(parallel.branches.get(branch?)?, rest)
        }
        everstep_asl::model::Kind::Map(map) => detail(&map.processor, rest),
        _ => None,
    }
}

/// What went through a visit, read from the steps it is in.
fn payloads(
    service: &Service,
    summary: &Summary,
    story: &Story,
    visit: Option<usize>,
) -> Result<Payloads, Failure> {
    let Some(visit) = visit.and_then(|visit| story.visits().get(visit)) else {
        return Ok(Payloads::default());
    };
    let read = |place: Option<EventPlace>| -> Result<Option<Data>, Failure> {
        let Some(place) = place else { return Ok(None) };
        let events = service.reader.step(summary, place.step).map_err(engine_error)?;
        let event = events.and_then(|events| events.into_iter().nth(place.index as usize));
        Ok(event.as_ref().and_then(payload_of).map(|payload| Data::new(payload.text())))
    };
    let last = visit.attempts.last().filter(|_| visit.kind == "Task");
    Ok(Payloads {
        input: read(Some(visit.entered))?,
        parameters: read(last.map(|attempt| attempt.scheduled))?,
        result: read(last.and_then(|attempt| attempt.ended))?,
        output: read(visit.left)?,
    })
}

fn payload_of(event: &Event) -> Option<&Payload> {
    match event {
        Event::StateEntered { input, .. } => Some(input),
        Event::TaskScheduled { parameters, .. } => Some(parameters),
        Event::StateExited { output, .. } | Event::TaskSucceeded { output, .. } => Some(output),
        _ => None,
    }
}

fn tab(
    service: &Service,
    summary: &Summary,
    prepared: &Prepared,
    described: &Value,
    asked: &Asked,
) -> Result<Tab, Failure> {
    let text = |member: &str| described[member].as_str();
    Ok(match asked.tab.as_str() {
        "events" => Tab::Events(events(service, summary, asked)?),
        "data" => Tab::Data {
            input: Data::new(text("input").unwrap_or("null")),
            output: text("output").map(Data::new),
        },
        "definition" => Tab::Definition(Data::new(prepared.revision.definition.as_str())),
        _ => Tab::Timeline,
    })
}

/// A window of the history.
fn events(service: &Service, summary: &Summary, asked: &Asked) -> Result<Events, Failure> {
    let window = u32::try_from(EVENTS).unwrap_or(u32::MAX);
    let from = match asked.from.as_str() {
        "last" => {
            let last = service.histories.last(summary).map_err(engine_error)?;
            last.saturating_sub(window - 1).max(1)
        }
        from => from.parse().unwrap_or(1).max(1),
    };
    let mut found = Events {
        from: from.into(),
        only_failures: asked.only_failures,
        previous: (from > 1).then(|| from.saturating_sub(window).max(1).into()),
        ..Events::default()
    };
    let mut looked_at = 0;
    let visit = |event: Value| {
        use std::ops::ControlFlow::{Break, Continue};
        let own = id(&event);
        if own < from {
            return Continue(());
        }
        if found.events.len() == EVENTS || looked_at == SCANNED_MAX {
            found.next = Some(own.into());
            return Break(());
        }
        looked_at += 1;
        if !asked.only_failures || is_failure(&event) {
            found.events.push(in_seconds(event));
        }
        Continue(())
    };
    service.histories.each_from(summary, from, visit).map_err(engine_error)?;
    Ok(found)
}

fn is_failure(event: &Value) -> bool {
    let kind = event["type"].as_str().unwrap_or_default();
    ["Failed", "TimedOut", "Aborted"].iter().any(|end| kind.ends_with(end))
}

/// As the API answers.
fn in_seconds(mut event: Value) -> Value {
    if let Some(ms) = event["timestamp"].as_i64() {
        event["timestamp"] = Value::Number(everstep_api::protocol::timestamp(ms));
    }
    event
}

/// The input, output or parameters of an event.
pub(in super::super) async fn payload(
    gateway: &Arc<Gateway>,
    machine: &str,
    name: &str,
    event: &str,
    of: &str,
) -> Result<String, Failure> {
    let missing = || Failure::not_found("There is no such event.");
    let summary = find(gateway, machine, name)?;
    let wanted: u32 = event.parse().map_err(|_| missing())?;
    let (histories, of) = (gateway.service.histories.clone(), of.to_owned());
    let read = move || {
        let mut text = None;
        let visit = |event: Value| {
            if id(&event) < wanted {
                return std::ops::ControlFlow::Continue(());
            }
            let members = event.as_object().into_iter().flatten();
            let mut details = members.filter(|(name, _)| name.ends_with("EventDetails"));
            text = details.find_map(|(_, details)| details[&of].as_str().map(str::to_owned));
            std::ops::ControlFlow::Break(())
        };
        histories.each_from(&summary, wanted, visit).map(|()| text)
    };
    let text = gateway.service.history_turns.run(read).await?.map_err(engine_error)?;
    text.ok_or_else(missing)
}

/// Changes when the execution does: how many steps are durable, and how it stands.
pub(in super::super) async fn version(
    gateway: &Arc<Gateway>,
    machine: &str,
    name: &str,
) -> Option<String> {
    let summary = find(gateway, machine, name).ok()?;
    let service = gateway.service.clone();
    let read = move || {
        let steps = service.stories.steps(&summary).ok()?;
        Some(format!("{}.{steps}.{}", summary.started_ms, summary.standing as u8))
    };
    gateway.service.history_turns.run(read).await.ok()?
}
