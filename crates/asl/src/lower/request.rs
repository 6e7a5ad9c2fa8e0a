//! The requests of service integrations: what must be in them.

use super::reader::Fields;
use everstep_source::Diagnostic;
use everstep_source::document::Member;

use crate::diagnostic::InServiceWords as _;
use crate::model::{QueryLanguage, Resource};
use crate::rule::Rule;

/// The fields without which the service refuses a definition. Others are missed only by the call.
const REQUIRED: &[(&str, &str, &[&str])] = &[
    ("dynamodb", "getItem", &["TableName", "Key"]),
    ("dynamodb", "putItem", &["TableName", "Item"]),
    ("ecs", "runTask", &["TaskDefinition"]),
    ("events", "putEvents", &["Entries"]),
    ("glue", "startJobRun", &["JobName"]),
    ("lambda", "invoke", &["FunctionName"]),
    ("sns", "publish", &["Message"]),
    ("sqs", "sendMessage", &["QueueUrl", "MessageBody"]),
    ("states", "startExecution", &["StateMachineArn"]),
];

/// Where a request stands.
pub(super) fn field(language: QueryLanguage) -> &'static str {
    match language {
        QueryLanguage::JsonPath => "Parameters",
        QueryLanguage::Jsonata => "Arguments",
    }
}

pub(super) fn check(fields: &Fields<'_>, resource: &Resource, language: QueryLanguage) {
    let Resource::Service { service, action, sdk: false, .. } = resource else { return };
    let Some(field) = fields.get(field(language)) else { return };
    // A request that is one expression is known at run time only.
    let Some(members) = field.node.as_object() else { return };
    let required = REQUIRED.iter().find(|(s, a, _)| s == service && a == action);
    for missing in required.map_or(&[][..], |(_, _, names)| *names) {
        if members.iter().any(|member| names(member, missing, language)) {
            continue;
        }
        field.cx.report(
            Diagnostic::new(
                Rule::RequiredField,
                field.name_span,
                field.at.place(),
                format!("a request to `{service}:{action}` needs the field `{missing}`"),
            )
            .service(format!("The field '{missing}' is required but was missing")),
        );
    }
}

fn names(member: &Member, field: &str, language: QueryLanguage) -> bool {
    member.name == field
        || language == QueryLanguage::JsonPath && member.name.strip_suffix(".$") == Some(field)
}
