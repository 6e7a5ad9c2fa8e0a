//! Mistakes in tasks: resources, requests, timeouts.

use serde_json::{Value, json};

use super::Mutate;
use super::site::{Site, State};

pub(super) const KINDS: &[(&str, Mutate)] = &[
    ("misspell a service", |site| resource(site, "lambda:invoke", "lamda:invoke")),
    ("misspell an action", |site| resource(site, "lambda:invoke", "lambda:invok")),
    ("a pattern that the service does not have", |site| {
        resource(site, "lambda:invoke", "lambda:invoke.sync")
    }),
    ("a function's ARN without a name", |site| set(site, "Resource", json!(FUNCTION))),
    ("a placeholder that stays open", |site| set(site, "Resource", json!("${Function"))),
    ("a resource that is no URI", |site| set(site, "Resource", json!("do the work"))),
    ("no request", without_request),
    ("a request without a required field", incomplete_request),
    ("a request in camelCase", camel_case_request),
    ("a text as Parameters", |site| parameters(site, json!("x"))),
    ("an array as Parameters", |site| parameters(site, json!([1]))),
    ("a heartbeat as long as the timeout", |site| {
        set(site, "TimeoutSeconds", json!(10))?;
        set(site, "HeartbeatSeconds", json!(10))
    }),
    ("a timeout of 0", |site| set(site, "TimeoutSeconds", json!(0))),
    ("credentials without a role", |site| set(site, "Credentials", json!({ "roleArn": "x" }))),
];

const FUNCTION: &str = "arn:aws:lambda:us-east-1:123456789012:function:";

fn is_service(state: &State) -> bool {
    let resource = state.get("Resource").and_then(Value::as_str);
    resource.is_some_and(|resource| resource.starts_with("arn:aws:states:::"))
}

fn resource(site: &mut Site<'_>, right: &str, wrong: &str) -> Option<()> {
    let arn = format!("arn:aws:states:::{right}");
    let fits = |name: &str, text: &str| name == "Resource" && text == arn;
    site.edit(fits, |text| text.replace(right, wrong))
}

/// In the first Task that speaks JSONPath, so that several calls change the same one.
fn set(site: &mut Site<'_>, name: &str, value: Value) -> Option<()> {
    let states = site.definition["States"].as_object_mut()?;
    let fits = |state: &Value| {
        let plain = state.as_object().is_some_and(|state| !is_service(state));
        state["Type"] == "Task" && plain && state.get("QueryLanguage").is_none()
    };
    let (_, state) = states.iter_mut().find(|(_, state)| fits(state))?;
    state[name] = value;
    Some(())
}

fn without_request(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, _| is_service(state))?;
    state.remove("Parameters").or(state.remove("Arguments")).map(drop)
}

fn incomplete_request(site: &mut Site<'_>) -> Option<()> {
    let invokes = |state: &State, _| {
        state.get("Resource").is_some_and(|arn| arn == "arn:aws:states:::lambda:invoke")
    };
    let state = site.state(invokes)?;
    let request = ["Parameters", "Arguments"].into_iter().find(|name| state.contains_key(*name))?;
    let request = state.get_mut(request)?.as_object_mut()?;
    request.retain(|name, _| !name.starts_with("FunctionName"));
    Some(())
}

fn camel_case_request(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, jsonata| is_service(state) && !jsonata)?;
    let request = state.get_mut("Parameters")?.as_object_mut()?;
    request.insert("clientToken".to_owned(), json!("x"));
    Some(())
}

fn parameters(site: &mut Site<'_>, value: Value) -> Option<()> {
    site.of_type("Pass")?.insert("Parameters".to_owned(), value);
    Some(())
}
