//! Task states.

use super::expression;
use super::machine::SECONDS_MAX;
use super::operand::integer;
use super::reader::{Field, Fields};
use super::retry;
use super::state::{Reading, transition};
use crate::diagnostic::Diagnostic;
use crate::integration;
use crate::model::{Kind, Operand, Pattern, Payload, Resource, Task, WorkflowType};
use crate::rule::Rule;

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let fields = &reading.fields;
    let resource = fields.require("Resource").and_then(|field| resource(&field));
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
    let (retry, catch) = retry::lower(reading);
    Kind::Task(Box::new(Task {
        resource: resource.unwrap_or_else(|| Resource::Uri(String::new())),
        timeout,
        heartbeat,
        credentials: credentials(reading),
        retry,
        catch,
        transition: transition(reading),
    }))
}

fn resource(field: &Field<'_, '_>) -> Option<Resource> {
    let text = field.string()?;
    let resource = Resource::classify(text);
    if let Some(problem) = integration::problem(&resource) {
        field.cx.report(field.report(problem.rule, problem.message).hint_if(problem.hint).service(
            format!(
                "The resource provided {text} is not recognized. The value is not a valid resource \
                 ARN, or the resource is not available in this region."
            ),
        ));
        return None;
    }
    if field.cx.options.workflow_type == WorkflowType::Express {
        check_express(field, &resource);
    }
    Some(resource)
}

fn check_express(field: &Field<'_, '_>, resource: &Resource) {
    let (message, words) = match (resource, resource.pattern()) {
        (Resource::Activity { .. }, _) => ("an activity", "Activity ARN".to_owned()),
        // The service's message ends with a space here, and clients have seen it so.
        (_, Pattern::WaitForTaskToken) => (
            "a task that waits for a callback",
            "'.waitForTaskToken' service integration ".to_owned(),
        ),
        (_, Pattern::Sync | Pattern::Sync2) => (
            "a task that waits for a job",
            format!("'{}' service integration", resource.pattern().suffix()),
        ),
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
    fields: &Fields<'_, '_>,
    timeout: Option<&Operand<u64>>,
    heartbeat: Option<&Operand<u64>>,
) {
    let (Some(Operand::Literal(timeout)), Some(Operand::Literal(heartbeat))) = (timeout, heartbeat)
    else {
        return;
    };
    if let (true, Some(field)) = (heartbeat >= timeout, fields.get("HeartbeatSeconds")) {
        fields.cx.report(
            field
                .report(
                    Rule::HeartbeatNotShorter,
                    format!("a heartbeat every {heartbeat} s can never be missed within a timeout of {timeout} s"),
                )
                .hint("HeartbeatSeconds must be smaller than TimeoutSeconds")
                .service("HeartbeatSeconds must be smaller than TimeoutSeconds"),
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
                fields.head(),
                fields.at.place(),
                "the credentials need the field `RoleArn`",
            )
            .service("The field 'RoleArn' is required but was missing"),
        );
        return None;
    }
    fields.finish(|_| None);
    expression::payload(&field, reading.language)
}
