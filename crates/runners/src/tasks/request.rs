//! What a task asks for, read from its resource and parameters.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use everstep_asl::model::{Resource, function_event};
use everstep_interpreter::Failure;
use serde_json::Value;

use crate::remote::Invocation;

#[derive(Debug, PartialEq)]
pub(super) enum Request {
    Function(Box<Target>),
    Post { url: String },
}

/// A function to call.
#[derive(Debug, PartialEq)]
pub(super) struct Target {
    pub(super) name: Name,
    /// JSON.
    pub(super) payload: String,
    pub(super) how: Invocation,
    /// JSON.
    pub(super) client_context: Option<String>,
    /// Whether the end of the function's log is part of the result.
    pub(super) log_tail: bool,
    pub(super) form: Form,
}

/// What a function's answer is to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The result itself.
    Result,
    /// `Payload` of the answer of `lambda:invoke`.
    Invocation,
    /// The same as an SDK gives it: a string.
    Sdk,
}

/// A function as it was named.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) function: String,
    pub(super) qualifier: Option<String>,
    /// All of the ARN, if it was one.
    pub(super) arn: Option<String>,
}

impl Name {
    /// A name, an ARN, or part of one; each may end with a version or an alias.
    fn read(text: &str) -> Option<Self> {
        let rest = text.split_once("function:").map_or(text, |(_, rest)| rest);
        let (function, qualifier) = match rest.split_once(':') {
            Some((function, qualifier)) => (function, Some(qualifier)),
            None => (rest, None),
        };
        let qualifier = qualifier.filter(|qualifier| !qualifier.is_empty()).map(str::to_owned);
        let arn = text.starts_with("arn:").then(|| text.to_owned());
        let function = function.to_owned();
        (!function.is_empty()).then_some(Self { function, qualifier, arn })
    }
}

pub(super) fn read(resource: &Resource, parameters: &Value) -> Result<Request, Failure> {
    match resource {
        Resource::Lambda { arn } => {
            let name = Name::read(arn)
                .ok_or_else(|| refusal(&format!("{arn} does not name a function")))?;
            let payload = parameters.to_string();
            let (how, form) = (Invocation::RequestResponse, Form::Result);
            Ok(Request::Function(Box::new(Target {
                name,
                payload,
                how,
                client_context: None,
                log_tail: false,
                form,
            })))
        }
        Resource::Service { service, action, sdk, .. }
            if service == "lambda" && action == "invoke" =>
        {
            let form = if *sdk { Form::Sdk } else { Form::Invocation };
            invocation(parameters, form).map(|target| Request::Function(Box::new(target)))
        }
        Resource::Uri(url) if url.starts_with("https://") || url.starts_with("http://") => {
            Ok(Request::Post { url: url.clone() })
        }
        other => Err(refusal(&format!(
            "the resource '{}' is not supported by this server: it can call functions \
             (arn:aws:lambda:region:account:function:name, arn:aws:states:::lambda:invoke) and URLs",
            other.as_str()
        ))),
    }
}

/// `States.Runtime`: no retry would do better.
fn refusal(why: &str) -> Failure {
    Failure::new("States.Runtime", why)
}

fn invocation(parameters: &Value, form: Form) -> Result<Target, Failure> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    let mut name = text("FunctionName").and_then(Name::read).ok_or_else(|| {
        refusal("the parameter FunctionName must be the name or the ARN of a function")
    })?;
    if let Some(qualifier) = text("Qualifier") {
        name.qualifier = Some(qualifier.to_owned());
    }
    let how = match text("InvocationType") {
        None | Some("RequestResponse") => Invocation::RequestResponse,
        Some("Event") => Invocation::Event,
        Some("DryRun") => Invocation::DryRun,
        Some(other) => {
            let text = format!(
                "the parameter InvocationType must be RequestResponse, Event or DryRun, not '{other}'"
            );
            return Err(refusal(&text));
        }
    };
    let log_tail = match text("LogType") {
        None | Some("None") => false,
        Some("Tail") => true,
        Some(other) => {
            let text = format!("the parameter LogType must be None or Tail, not '{other}'");
            return Err(refusal(&text));
        }
    };
    let client_context = text("ClientContext").map(context).transpose()?;
    let payload = event(parameters.get("Payload"))?;
    Ok(Target { name, payload, how, client_context, log_tail, form })
}

/// What Lambda refuses is not sent.
fn event(payload: Option<&Value>) -> Result<String, Failure> {
    function_event(payload).map(Into::into).map_err(|error| {
        let text = format!("Could not parse request body into json: {error}");
        Failure::new("Lambda.InvalidRequestContentException", text)
    })
}

fn context(text: &str) -> Result<String, Failure> {
    let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let is_object =
        |text: &String| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    decoded.filter(is_object).ok_or_else(|| {
        let text = "Client context must be a valid Base64-encoded JSON object.";
        Failure::new("Lambda.InvalidRequestContentException", text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const INVOKE: &str = "arn:aws:states:::lambda:invoke";

    fn name(function: &str, qualifier: Option<&str>, arn: Option<&str>) -> Name {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Name { function: function.to_owned(), qualifier: owned(qualifier), arn: owned(arn) }
    }

    fn check(text: &str, expected: Option<Name>) {
        assert_eq!(Name::read(text), expected, "{text}");
    }

    #[test]
    fn functions_have_many_names() {
        let arn = "arn:aws:lambda:us-east-1:111122223333:function:charge";
        check(arn, Some(name("charge", None, Some(arn))));
        let live = format!("{arn}:live");
        check(&live, Some(name("charge", Some("live"), Some(&live))));
        check("111122223333:function:charge:1", Some(name("charge", Some("1"), None)));
        check("function:charge", Some(name("charge", None, None)));
        check("charge:$LATEST", Some(name("charge", Some("$LATEST"), None)));
        check("", None);
    }

    #[test]
    fn parameters_are_read() {
        let target = |parameters| match read(&Resource::classify(INVOKE), &parameters).unwrap() {
            Request::Function(target) => *target,
            other => panic!("{other:?}"),
        };
        let read = target(json!({ "FunctionName": "f", "Payload": { "a": 1 }, "Qualifier": "2" }));
        assert_eq!((&*read.payload, read.how), ("{\"a\":1}", Invocation::RequestResponse));
        assert_eq!(read.name, name("f", Some("2"), None));
        assert_eq!(target(json!({ "FunctionName": "f" })).payload, "{}");
        let payload = |payload| target(json!({ "FunctionName": "f", "Payload": payload })).payload;
        assert_eq!(payload(json!("{\"a\": 1}")), "{\"a\": 1}");
        assert_eq!(payload(Value::Null), "{}");
        assert!(target(json!({ "FunctionName": "f", "LogType": "Tail" })).log_tail);
        assert!(!target(json!({ "FunctionName": "f", "LogType": "None" })).log_tail);
        let event = target(json!({ "FunctionName": "f", "InvocationType": "Event" }));
        assert_eq!(event.how, Invocation::Event);
        let context = STANDARD.encode(r#"{"custom":{}}"#);
        let read = target(json!({ "FunctionName": "f", "ClientContext": context }));
        assert_eq!(read.client_context.as_deref(), Some(r#"{"custom":{}}"#));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for (resource, parameters, error) in [
            (INVOKE, json!({}), "States.Runtime"),
            (INVOKE, json!({ "FunctionName": 7 }), "States.Runtime"),
            (INVOKE, json!({ "FunctionName": "f", "InvocationType": "Later" }), "States.Runtime"),
            (INVOKE, json!({ "FunctionName": "f", "LogType": "All" }), "States.Runtime"),
            (
                INVOKE,
                json!({ "FunctionName": "f", "Payload": "text" }),
                "Lambda.InvalidRequestContentException",
            ),
            (
                INVOKE,
                json!({ "FunctionName": "f", "ClientContext": "?" }),
                "Lambda.InvalidRequestContentException",
            ),
            ("arn:aws:states:::sqs:sendMessage", json!({}), "States.Runtime"),
        ] {
            let found = read(&Resource::classify(resource), &parameters).unwrap_err();
            assert_eq!(found.name(), error, "{resource}");
        }
    }
}
