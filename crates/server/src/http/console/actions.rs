//! What a POST does: the operation of the same name, for a page of this server.

use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, ORIGIN};
use axum::http::{HeaderMap, Request, StatusCode};
use axum::response::Response;
use everstep_api::protocol::Operation;
use everstep_console::pages::dead_letters::REDRIVE_MAX;
use everstep_console::{Notice, Site, url};
use serde_json::{Value, json};

use super::answer::{self, Failure};
use super::form::Form;
use super::view::Address;
use super::{session, views};
use crate::functions::{InvocationType, Invoke};
use crate::http::handler::Gateway;

/// An input of 256 KiB, each byte of which may take three in a form.
const BYTES_MAX: usize = 1 << 20;

/// Reads the form of a POST that a page of this server has sent.
pub(super) async fn form(gateway: &Gateway, request: Request<Body>) -> Result<Form, Failure> {
    if let Some(reason) = foreign(request.headers()) {
        return Err(Failure::new(StatusCode::FORBIDDEN, "Refused", reason));
    }
    let body = gateway.body(request.into_body(), BYTES_MAX).await.map_err(|broken| {
        let error = broken.error(BYTES_MAX);
        Failure::new(StatusCode::BAD_REQUEST, "Refused", error.message().to_owned())
    })?;
    Ok(Form::parse(&String::from_utf8_lossy(body.bytes())))
}

/// Why a POST may come from a page of somebody else, if so. That the origin is this host is checked for every request.
fn foreign(headers: &HeaderMap) -> Option<&'static str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if !headers.contains_key(ORIGIN) {
        return Some(
            "A change must come from a page of this server: the header 'Origin' is missing.",
        );
    }
    if text("sec-fetch-site") != Some("same-origin") {
        return Some(
            "A change must come from a page of this server: the header 'Sec-Fetch-Site' is not 'same-origin'.",
        );
    }
    let content = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let is_form =
        content.is_some_and(|content| content.starts_with("application/x-www-form-urlencoded"));
    (!is_form).then_some("A change must be a form.")
}

pub(super) async fn run(
    gateway: &Arc<Gateway>,
    address: &Address,
    request: Request<Body>,
    user: Option<&str>,
) -> Result<Response, Failure> {
    let headers = request.headers().clone();
    let form = form(gateway, request).await?;
    let log = |what: &str| {
        if let Some(user) = user {
            gateway.log(&format!("console: {user}: {what}"));
        }
    };
    match &address.parts()[..] {
        ["executions", machine, name, "stop"] => {
            let arn = views::execution_arn(gateway, machine, name);
            let mut body = json!({ "executionArn": arn });
            for member in ["error", "cause"] {
                if let Some(text) = form.some(member) {
                    body[member] = text.into();
                }
            }
            call(gateway, Operation::StopExecution, &body).await?;
            log(&format!("stopped {machine}/{name}"));
            Ok(done(&url::execution(machine, name), Notice::Stopped))
        }
        ["executions", machine, name, "redrive"] => {
            let arn = views::execution_arn(gateway, machine, name);
            call(gateway, Operation::RedriveExecution, &json!({ "executionArn": arn })).await?;
            log(&format!("redrove {machine}/{name}"));
            Ok(done(&url::execution(machine, name), Notice::Redriven))
        }
        ["machines", machine, "start"] => {
            let started = start(gateway, machine, &form).await;
            if started.is_ok() {
                log(&format!("started {machine}"));
            }
            started_or_refused(gateway, machine, &form, started, &headers, user).await
        }
        ["functions", function, "invoke"] => {
            let id = invoke(gateway, function, form.text("payload")).await?;
            log(&format!("invoked {function}: {id}"));
            Ok(done(&url::invocation(&id), Notice::Invoked))
        }
        ["invocations", id, "cancel"] => {
            operate(gateway, "CancelInvocation", json!({ "id": id })).await?;
            log(&format!("cancelled the invocation {id}"));
            Ok(done(&url::invocation(id), Notice::Cancelled))
        }
        ["invocations", id, "redrive"] => {
            let redriven = operate(gateway, "RedriveDeadLetters", json!({ "ids": [id] })).await?;
            let into = redriven["redriven"][0]["into"].as_str().ok_or_else(|| {
                Failure::new(StatusCode::CONFLICT, "Refused", "It is no dead letter any more.")
            })?;
            log(&format!("redrove the dead letter {id}"));
            Ok(done(&url::invocation(into), Notice::LetterRedriven))
        }
        ["deadletters", "redrive"] => {
            let number = redrive_group(gateway, &form).await?;
            log(&format!("redrove {number} dead letters of {}", form.text("function")));
            Ok(done(&url::path(&["deadletters"]), Notice::LettersRedriven))
        }
        ["logout"] => {
            gateway.sessions.end(&headers);
            log("logged out");
            let mut response = answer::see_other(url::ROOT);
            session::set_cookie(&mut response, "", 0);
            Ok(response)
        }
        _ => Err(Failure::not_found("There is no such action.")),
    }
}

fn done(address: &str, notice: Notice) -> Response {
    answer::see_other(&format!("{address}{}", url::query(&[("done", notice.name())])))
}

async fn call(gateway: &Gateway, operation: Operation, body: &Value) -> Result<Value, Failure> {
    Ok(gateway.service.call(operation, body).await?)
}

async fn operate(gateway: &Gateway, operation: &str, body: Value) -> Result<Value, Failure> {
    let functions = gateway.service.functions.as_ref().ok_or_else(views::no_functions)?;
    Ok(functions.operate(operation, body).await?)
}

/// Starts an execution; its name.
async fn start(gateway: &Gateway, machine: &str, form: &Form) -> Result<String, Failure> {
    let input = form.some("input").unwrap_or("{}");
    let arn = gateway.service.machine_arn(machine);
    let mut body = json!({ "stateMachineArn": arn, "input": input });
    if let Some(name) = form.some("name") {
        body["name"] = name.into();
    }
    let started = call(gateway, Operation::StartExecution, &body).await?;
    let arn = started["executionArn"].as_str().unwrap_or_default();
    Ok(arn.rsplit(':').next().unwrap_or_default().to_owned())
}

/// The page of the execution; or the form again, with what was typed and why it was refused.
async fn started_or_refused(
    gateway: &Arc<Gateway>,
    machine: &str,
    form: &Form,
    started: Result<String, Failure>,
    headers: &HeaderMap,
    user: Option<&str>,
) -> Result<Response, Failure> {
    let failure = match started {
        Ok(name) if views::is_express(gateway, machine) => {
            let _ = name;
            return Ok(done(&url::machine(machine), Notice::Started));
        }
        Ok(name) => return Ok(done(&url::execution(machine, &name), Notice::Started)),
        Err(failure) => failure,
    };
    let typed = views::machines::Typed {
        input: form.text("input").to_owned(),
        name: form.text("name").to_owned(),
        refused: Some(failure.message.clone()),
    };
    let page = views::machines::page(gateway, machine, None, Some(typed)).await?;
    let site =
        Site { now_ms: gateway.service.now_ms(), user: user.map(str::to_owned), ..Site::default() };
    Ok(answer::page(failure.status, &page, &site, headers))
}

async fn invoke(gateway: &Gateway, function: &str, payload: &str) -> Result<String, Failure> {
    let functions = gateway.service.functions.as_ref().ok_or_else(views::no_functions)?;
    let invoked = functions.invoke(Invoke {
        function: function.to_owned(),
        qualifier: None,
        invocation_type: InvocationType::Event,
        payload: payload.as_bytes().to_vec(),
        client_context: None,
        key: None,
    });
    Ok(invoked.await?.id)
}

/// Redrives the letters of a group; how many they were.
async fn redrive_group(gateway: &Gateway, form: &Form) -> Result<usize, Failure> {
    let refused = |message: String| Failure::new(StatusCode::BAD_REQUEST, "Refused", message);
    let typed: usize = form.number("count").unwrap_or(0);
    let spacing: f64 = form.number("spacing").unwrap_or(0.0);
    if typed == 0 || typed > REDRIVE_MAX || !(0.0..=3600.0).contains(&spacing) {
        let message = format!(
            "Type how many letters are to be redriven, at most {REDRIVE_MAX}, and a spacing of up to an hour."
        );
        return Err(refused(message));
    }
    let filter = |dry_run: bool| {
        json!({
            "function": form.some("function"), "error": form.some("error"), "reason": form.some("reason"),
            "latest": form.text("latest") == "yes", "spacingMs": (spacing * 1000.0) as u64,
            "limit": REDRIVE_MAX, "dryRun": dry_run,
        })
    };
    let count = |answer: &Value| answer["redriven"].as_array().map_or(0, Vec::len);
    let found = count(&operate(gateway, "RedriveDeadLetters", filter(true)).await?);
    if found != typed {
        let message = format!("There are {found} letters now, not {typed}: nothing was redriven.");
        return Err(refused(message));
    }
    Ok(count(&operate(gateway, "RedriveDeadLetters", filter(false)).await?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&str, &str)], expected: Option<&str>) {
        let mut all = HeaderMap::new();
        for (name, value) in headers {
            let name = axum::http::HeaderName::from_bytes(name.as_bytes()).expect("a name");
            all.insert(name, value.parse().expect("a value"));
        }
        match (foreign(&all), expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            (found, _) => panic!("{headers:?}: {found:?}"),
        }
    }

    #[test]
    fn a_change_comes_from_a_page_of_this_server() {
        let origin = ("origin", "http://localhost:8083");
        let site = ("sec-fetch-site", "same-origin");
        let form = ("content-type", "application/x-www-form-urlencoded");
        check(&[origin, site, form], None);
        check(&[site, form], Some("Origin"));
        check(&[origin, form], Some("Sec-Fetch-Site"));
        for other in ["same-site", "cross-site", "none"] {
            check(&[origin, ("sec-fetch-site", other), form], Some("Sec-Fetch-Site"));
        }
        check(&[origin, site, ("content-type", "text/plain")], Some("form"));
        check(&[origin, site], Some("form"));
    }
}
