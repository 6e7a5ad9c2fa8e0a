//! Fills pages from the service.

pub(super) mod execution;
mod executions;
mod functions;
pub(super) mod machines;

use std::sync::Arc;

use axum::http::StatusCode;
use axum::response::Response;
use everstep_console::{Page, pages, url};
use everstep_executions::{ExecutionId, Standing, Summary};
use serde_json::json;

use super::answer::{self, Failure};
use super::view::{Address, View};
use crate::catalog::{Entry, Machine, Order};
use crate::http::handler::Gateway;
use crate::service::{Service, engine_error};

pub(super) async fn page(
    gateway: &Arc<Gateway>,
    view: &View,
    address: &Address,
) -> Result<Page, Failure> {
    match view {
        View::Overview => executions::overview(gateway).await,
        View::Executions => executions::list(gateway, &address.query).await,
        View::Execution { machine, name } => {
            execution::page(gateway, machine, name, &address.query).await
        }
        View::Machines => machines::list(gateway, address.query.some("after")).await,
        View::Machine { name } => {
            machines::page(gateway, name, address.query.some("from"), None).await
        }
        View::Functions => functions::list(gateway).await,
        View::Function { name } => functions::page(gateway, name).await,
        View::Invocations => functions::invocations(gateway, &address.query).await,
        View::Invocation { id } => functions::invocation(gateway, id).await,
        View::DeadLetters => functions::dead_letters(gateway, &address.query).await,
        View::About => Ok(about(gateway)),
    }
}

pub(super) fn execution_arn(gateway: &Gateway, machine: &str, name: &str) -> String {
    gateway.service.arn(&format!("execution:{machine}:{name}"))
}

/// The machine and the name of an execution.
pub(super) fn names(arn: &str) -> (&str, &str) {
    let mut parts = arn.splitn(8, ':').skip(6);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

pub(super) fn no_functions() -> Failure {
    Failure::not_found("This server has no functions: start it with --functions everstep.yaml.")
}

/// The machine of a name.
fn machine(service: &Service, name: &str) -> Result<Entry<Machine>, Failure> {
    let found = service.machine(&service.machine_arn(name)).map_err(damaged)?;
    found.ok_or_else(|| Failure::not_found(format!("There is no state machine '{name}'.")))
}

fn damaged(failed: crate::catalog::Failed) -> Failure {
    Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "Cannot be read", failed.0)
}

/// Machines by name, from behind `last` on.
fn machines_after(
    service: &Service,
    last: Option<&str>,
    limit: usize,
) -> Result<Vec<Machine>, Failure> {
    let last = last.map(|name| Machine::key(&service.machine_arn(name)));
    let rows: Vec<Entry<Machine>> = service
        .catalog
        .list(Machine::PREFIX, Order::Rising, last.as_deref(), limit)
        .map_err(damaged)?;
    Ok(rows.into_iter().map(|row| row.value).collect())
}

pub(super) fn is_express(gateway: &Gateway, name: &str) -> bool {
    machine(&gateway.service, name).is_ok_and(|machine| machine.value.express)
}

fn summary(service: &Service, arn: &str) -> Result<Option<Summary>, Failure> {
    Ok(service.reader.summary(ExecutionId::of(arn)).map_err(engine_error)?)
}

/// Reads the store beside the threads that answer requests.
async fn blocking<T: Send + 'static>(
    gateway: &Gateway,
    work: impl FnOnce(&Service) -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let service = gateway.service.clone();
    gateway.service.history_turns.run(move || work(&service)).await?
}

fn standing(standing: Standing) -> everstep_story::Standing {
    match standing {
        Standing::Running => everstep_story::Standing::Running,
        Standing::Succeeded => everstep_story::Standing::Succeeded,
        Standing::Failed => everstep_story::Standing::Failed,
        Standing::TimedOut => everstep_story::Standing::TimedOut,
        Standing::Aborted => everstep_story::Standing::Aborted,
    }
}

fn about(gateway: &Gateway) -> Page {
    let environment = &gateway.service.environment;
    let functions = gateway.service.functions.as_ref();
    pages::about::page(&pages::about::About {
        version: env!("CARGO_PKG_VERSION"),
        endpoint: &gateway.url,
        region: &environment.region,
        account: &environment.account,
        dialect: environment.dialect.name(),
        is_protected: !gateway.keys.is_empty(),
        store: "embedded, one node",
        functions: functions.map(|functions| functions.limits()),
    })
}

/// Machines that are searched for an execution of a name.
const SEARCHED_MAX: usize = 1000;

/// To what a reader has typed: an ARN, the name of an execution or of a machine, the id of an invocation.
pub(super) async fn jump(gateway: &Arc<Gateway>, typed: &str) -> Result<Response, Failure> {
    let typed = typed.trim().to_owned();
    let text = typed.clone();
    let found = blocking(gateway, move |service| find(service, &text)).await?;
    if let Some(found) = found {
        return Ok(answer::see_other(&found));
    }
    let invocation = match &gateway.service.functions {
        Some(functions) => functions.operate("ShowInvocation", json!({ "id": typed })).await.ok(),
        None => None,
    };
    if invocation.is_some_and(|found| found["invocationId"] == typed.as_str()) {
        return Ok(answer::see_other(&url::invocation(&typed)));
    }
    let shown: String = typed.chars().take(200).collect();
    let message = format!(
        "Nothing is called '{shown}': no execution, no state machine, no function, no invocation."
    );
    Err(Failure::not_found(message))
}

fn find(service: &Service, typed: &str) -> Result<Option<String>, Failure> {
    if typed.starts_with("arn:") {
        let (first, second) = names(typed);
        return Ok(match (typed.split(':').nth(5), summary(service, typed)?) {
            (Some("execution"), Some(_)) => Some(url::execution(first, second)),
            (Some("stateMachine"), _) => Some(url::machine(first)),
            (Some("function"), _) => Some(url::function(first)),
            _ => None,
        });
    }
    if machine(service, typed).is_ok() {
        return Ok(Some(url::machine(typed)));
    }
    for machine in machines_after(service, None, SEARCHED_MAX)? {
        let arn = service.arn(&format!("execution:{}:{typed}", machine.name));
        if summary(service, &arn)?.is_some() {
            return Ok(Some(url::execution(&machine.name, typed)));
        }
    }
    let functions = service.functions.as_ref().map(|functions| functions.names());
    let is_function = functions.is_some_and(|names| names.iter().any(|name| name == typed));
    Ok(is_function.then(|| url::function(typed)))
}
