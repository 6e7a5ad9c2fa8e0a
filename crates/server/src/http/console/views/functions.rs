//! Functions, their invocations, and dead letters.

use std::collections::HashMap;
use std::sync::Arc;

use everstep_console::pages::dead_letters::{DeadLetters, Filter, Group};
use everstep_console::pages::functions::Function;
use everstep_console::pages::invocations::{self, Invocation, Invocations};
use everstep_console::{Page, pages};
use everstep_story::history::millis;
use serde_json::{Value, json};

use super::super::answer::Failure;
use super::super::form::Form;
use super::no_functions;
use crate::http::handler::Gateway;

const PAGE: usize = 50;
const LATEST: usize = 10;
/// Dead letters that are looked at to group them.
const GROUPED_MAX: usize = 5000;

/// Every function, as `Everstep.ListFunctions` answers.
pub(super) fn all(gateway: &Gateway) -> Vec<Value> {
    let functions = gateway.service.functions.as_ref();
    let mut answer = functions.map_or(Value::Null, |functions| functions.described());
    match answer["functions"].take() {
        Value::Array(functions) => functions,
        _ => Vec::new(),
    }
}

async fn operate(gateway: &Gateway, operation: &str, body: Value) -> Result<Value, Failure> {
    let functions = gateway.service.functions.as_ref().ok_or_else(no_functions)?;
    Ok(functions.operate(operation, body).await?)
}

fn names(functions: &[Value]) -> Vec<String> {
    functions.iter().filter_map(|one| one["name"].as_str()).map(str::to_owned).collect()
}

pub(super) async fn list(gateway: &Arc<Gateway>) -> Result<Page, Failure> {
    Ok(pages::functions::list(&all(gateway)))
}

pub(super) async fn page(gateway: &Arc<Gateway>, name: &str) -> Result<Page, Failure> {
    let functions = all(gateway);
    let function = functions.iter().find(|one| one["name"] == name);
    let missing = || Failure::not_found(format!("There is no function '{name}'."));
    let function = function.ok_or_else(missing)?;
    let body = json!({ "function": name, "maxResults": LATEST });
    let latest = operate(gateway, "ListInvocations", body).await?;
    Ok(pages::functions::page(&Function {
        function,
        invocations: latest["invocations"].as_array().map(Vec::as_slice).unwrap_or_default(),
        payload: "{}",
        refused: None,
    }))
}

pub(super) async fn invocations(gateway: &Arc<Gateway>, query: &Form) -> Result<Page, Failure> {
    let filter = invocations::Filter {
        function: query.text("function").to_owned(),
        state: query.text("state").to_owned(),
        error: query.text("error").trim().to_owned(),
        after: query.text("after").to_owned(),
    };
    let functions = names(&all(gateway));
    let mut answer = Value::Null;
    if gateway.service.functions.is_some() {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let body = json!({
            "function": given(&filter.function), "state": given(&filter.state),
            "error": given(&filter.error), "nextToken": given(&filter.after), "maxResults": PAGE,
        });
        answer = operate(gateway, "ListInvocations", body).await?;
    }
    Ok(invocations::list(&Invocations {
        filter,
        functions,
        invocations: answer["invocations"].as_array().map(Vec::as_slice).unwrap_or_default(),
        next: answer["nextToken"].as_str().map(str::to_owned),
    }))
}

pub(super) async fn invocation(gateway: &Arc<Gateway>, id: &str) -> Result<Page, Failure> {
    let found = operate(gateway, "ShowInvocation", json!({ "id": id })).await?;
    let now_ms = gateway.service.now_ms();
    Ok(invocations::page(&Invocation { invocation: &found, now_ms }))
}

/// The dead letters by cause, most first; and whether there are more than were counted.
pub(super) async fn groups(gateway: &Arc<Gateway>) -> Result<(Vec<Group>, bool), Failure> {
    if gateway.service.functions.is_none() {
        return Ok((Vec::new(), false));
    }
    let mut found: HashMap<(String, String, String), (usize, i64)> = HashMap::new();
    let (mut token, mut looked_at) = (Value::Null, 0);
    loop {
        let body = json!({ "deadLetters": true, "maxResults": 1000, "nextToken": token });
        let mut page = operate(gateway, "ListInvocations", body).await?;
        for letter in page["invocations"].as_array().into_iter().flatten() {
            looked_at += 1;
            let (count, latest_ms) = found.entry(cause(letter)).or_default();
            *count += 1;
            *latest_ms = (*latest_ms).max(millis(&letter["endedAt"]).unwrap_or_default());
        }
        token = page["nextToken"].take();
        if token.is_null() || looked_at >= GROUPED_MAX {
            break;
        }
    }
    let group = |((function, error, reason), (count, latest_ms))| Group {
        function,
        error,
        reason,
        count,
        latest_ms,
    };
    let mut groups: Vec<Group> = found.into_iter().map(group).collect();
    groups.sort_by(|one, other| {
        other.count.cmp(&one.count).then_with(|| one.function.cmp(&other.function))
    });
    Ok((groups, !token.is_null()))
}

/// Function, error and reason.
fn cause(letter: &Value) -> (String, String, String) {
    let text = |member: &str| letter[member].as_str().unwrap_or_default().to_owned();
    let attempts = letter["attempts"].as_array().into_iter().flatten();
    let error = attempts.rev().find_map(|attempt| attempt["errorType"].as_str());
    (text("function"), error.unwrap_or_default().to_owned(), text("reason"))
}

pub(super) async fn dead_letters(gateway: &Arc<Gateway>, query: &Form) -> Result<Page, Failure> {
    let filter = Filter {
        function: query.text("function").to_owned(),
        error: query.text("error").to_owned(),
        reason: query.text("reason").to_owned(),
    };
    let (groups, has_more) = groups(gateway).await?;
    let mut letters = Value::Null;
    if filter != Filter::default() && gateway.service.functions.is_some() {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let body = json!({
            "deadLetters": true, "maxResults": PAGE, "function": given(&filter.function),
            "error": given(&filter.error), "reason": given(&filter.reason),
        });
        letters = operate(gateway, "ListInvocations", body).await?;
    }
    Ok(pages::dead_letters::page(&DeadLetters {
        filter,
        groups,
        has_more,
        letters: letters["invocations"].as_array().map(Vec::as_slice).unwrap_or_default(),
        refused: None,
    }))
}
