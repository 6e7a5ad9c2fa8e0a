//! Task states.

use std::sync::Arc;

use super::expression;
use super::machine::SECONDS_MAX;
use super::operand::integer;
use super::reader::{Close as _, Field, Fields};
use super::request;
use super::retry;
use super::state::{Reading, transition};
use everstep_source::document::{Content, Node};
use everstep_source::{Diagnostic, Severity};

use crate::diagnostic::InServiceWords as _;
use crate::integration;
use crate::model::{Kind, Operand, Pattern, Payload, QueryLanguage, Resource, Task, WorkflowType};
use crate::rule::Rule;

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let fields = &reading.fields;
    let resource =
        fields.require("Resource").and_then(|field| resource(fields, &field, reading.language));
    let timeout =
        integer(fields, reading.language, "TimeoutSeconds", "TimeoutSecondsPath", 1..=SECONDS_MAX);
    let heartbeat = integer(
        fields,
        reading.language,
        "HeartbeatSeconds",
        "HeartbeatSecondsPath",
        1..=SECONDS_MAX,
    );
    check_heartbeat(fields, timeout.as_ref(), heartbeat.as_ref());
    if matches!(resource, Some(Resource::Activity { .. })) {
        refuse_credentials(fields);
    }
    let (retry, catch) = retry::lower(reading);
    Kind::Task(Box::new(Task {
        resource: Arc::new(resource.unwrap_or_else(|| Resource::Uri(String::new()))),
        timeout,
        heartbeat,
        credentials: credentials(reading),
        retry,
        catch,
        transition: transition(reading),
    }))
}

fn resource(fields: &Fields<'_>, field: &Field<'_>, language: QueryLanguage) -> Option<Resource> {
    let text = field.string()?;
    let resource = Resource::classify(text);
    if is_generic(&resource) {
        return Some(Resource::Uri(text.to_owned()));
    }
    if let Some(problem) = integration::problem(&resource) {
        field.cx.report(
            field
                .report(problem.rule, problem.message)
                .severity(problem.severity)
                .hint_if(problem.hint)
                .service(problem.service),
        );
    } else {
        request::check(fields, &resource, language);
    }
    check_arguments(fields, field, &resource, language);
    check_token(fields, field, &resource);
    if field.cx.options.workflow_type == WorkflowType::Express {
        check_express(field, &resource);
    }
    Some(resource)
}

/// `arn:aws:states:::task:Add`, as the specification's own examples name tasks: no service is meant.
fn is_generic(resource: &Resource) -> bool {
    matches!(resource, Resource::Service { service, sdk: false, .. } if service == "task")
}

/// Every service action takes a request.
fn check_arguments(
    fields: &Fields<'_>,
    field: &Field<'_>,
    resource: &Resource,
    language: QueryLanguage,
) {
    let name = request::field(language);
    if matches!(resource, Resource::Service { .. }) && !fields.has(name) {
        let arn = resource.as_str();
        field.cx.report(
            field
                .report(
                    Rule::RequiredField,
                    format!("a task that calls a service needs the field `{name}`"),
                )
                .hint("an empty object will do where the action has no parameters")
                .service(format!("{name} field is required for resource ARN: {arn}")),
        );
    }
}

/// A callback task that does not hand its token to anybody waits until it times out.
fn check_token(fields: &Fields<'_>, field: &Field<'_>, resource: &Resource) {
    if resource.pattern() != Pattern::WaitForTaskToken {
        return;
    }
    let request = fields.get("Parameters").or_else(|| fields.get("Arguments"));
    if request.is_none_or(|request| mentions_token(request.node)) {
        return;
    }
    field.cx.report(
        field
            .report(
                Rule::TaskTokenUnused,
                "this task waits for its token to come back, but does not pass it on",
            )
            .hint("put `$$.Task.Token` (JSONata: `$states.context.Task.Token`) into the request"),
    );
}

/// Whether any text inside could yield the token: it, or the whole context object.
fn mentions_token(node: &Node) -> bool {
    match &node.content {
        Content::String(text) => {
            text.contains("Task.Token")
                || text.contains("$$")
                || text.contains("$states.context")
                || text.contains("$states %}")
        }
        Content::Array(elements) => elements.iter().any(mentions_token),
        Content::Object(members) => members.iter().any(|member| mentions_token(&member.value)),
        _ => false,
    }
}

fn check_express(field: &Field<'_>, resource: &Resource) {
    let (message, words) = match (resource, resource.pattern()) {
        (Resource::Activity { .. }, _) => ("an activity", "Activity ARN".to_owned()),
        // The service's message ends with a space here, and clients have seen it so.
        (_, Pattern::WaitForTaskToken) => (
            "a task that waits for a callback",
            "'.waitForTaskToken' service integration ".to_owned(),
        ),
        (_, Pattern::Sync | Pattern::Sync2) => {
            ("a task that waits for a job", "'.sync' service integration".to_owned())
        }
        (_, Pattern::RequestResponse) => return,
    };
    field.cx.report(
        field
            .report(Rule::ExpressUnsupported, format!("an EXPRESS workflow cannot run {message}"))
            .hint("make the state machine STANDARD")
            .service(format!("Express state machine does not support {words}")),
    );
}

/// "If provided, the HeartbeatSeconds interval MUST be smaller than the TimeoutSeconds value."
fn check_heartbeat(
    fields: &Fields<'_>,
    timeout: Option<&Operand<u64>>,
    heartbeat: Option<&Operand<u64>>,
) {
    let (Some(Operand::Literal(heartbeat)), Some(field)) =
        (heartbeat, fields.get("HeartbeatSeconds"))
    else {
        return;
    };
    let never = |which: &str, timeout: u64| {
        let message = format!(
            "a heartbeat every {heartbeat} s can never be missed within {which} of {timeout} s"
        );
        field.report(Rule::HeartbeatNotShorter, message)
    };
    let given = fields.has("TimeoutSeconds") || fields.has("TimeoutSecondsPath");
    let default = fields.cx.options.dialect.default_timeout_seconds().filter(|_| !given);
    match (timeout, default) {
        (Some(Operand::Literal(timeout)), _) if heartbeat >= timeout => {
            let smaller = "HeartbeatSeconds must be smaller than TimeoutSeconds";
            fields.cx.report(never("a timeout", *timeout).hint(smaller).service(smaller));
        }
        // The service has no default, so its definitions often give none: they run, with a warning.
        (None, Some(default)) if *heartbeat >= default => {
            let found = never("the default timeout", default).severity(Severity::Warning);
            fields.cx.report(found.hint("set a TimeoutSeconds that is larger"));
        }
        _ => {}
    }
}

/// Workers fetch an activity's tasks by their own rights.
fn refuse_credentials(fields: &Fields<'_>) {
    if let Some(field) = fields.get("Credentials") {
        fields.cx.report(
            Diagnostic::new(
                Rule::MisplacedField,
                field.name_span,
                field.at.place(),
                "a task that an activity does cannot have the field `Credentials`",
            )
            .hint("a worker fetches the task with its own credentials")
            .service("The field 'Credentials' is not supported for activities"),
        );
    }
}

fn credentials(reading: &Reading<'_, '_>) -> Option<Payload> {
    let field = reading.fields.get("Credentials")?;
    if field.node.as_str().is_some() && reading.is_jsonata() {
        return expression::payload(&field, reading.language);
    }
    let fields = field.fields("the credentials")?;
    let role = if reading.is_jsonata() {
        fields.get("RoleArn").is_some()
    } else {
        fields.exclude("RoleArn", "RoleArn.$");
        fields.get("RoleArn").is_some() | fields.get("RoleArn.$").is_some()
    };
    if !role {
        fields.cx.report(
            Diagnostic::new(
                Rule::RequiredField,
                fields.head,
                fields.at.place(),
                "the credentials need the field `RoleArn`",
            )
            .service("The field 'RoleArn' is required but was missing"),
        );
        return None;
    }
    fields.close(|_| None);
    expression::payload(&field, reading.language)
}
