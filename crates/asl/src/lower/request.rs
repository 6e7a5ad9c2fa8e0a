//! The requests of service integrations: what must be in them, and how it is written.

use super::reader::{Field, Fields};
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
    let Resource::Service { service, action, sdk, .. } = resource else { return };
    let Some(field) = fields.get(field(language)) else { return };
    let Some(members) = field.node.as_object() else {
        // One expression is known at run time only; what is neither is reported where any template must be an object.
        if language == QueryLanguage::JsonPath && field.cx.options.dialect.takes_any_template() {
            field.cx.report(field.wrong_type("an object"));
        }
        return;
    };
    check_case(&field, members, language);
    if *sdk {
        return;
    }
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

/// "Parameters in Step Functions are expressed in PascalCase, even if the native service API is in camelCase": all
/// of them, so the first letter tells. Inside, data and fields cannot be told apart.
fn check_case(field: &Field<'_>, members: &[Member], language: QueryLanguage) {
    for member in members {
        let name = bare(member, language);
        let Some(first) = name.chars().next().filter(char::is_ascii_lowercase) else { continue };
        let right = format!("{}{}", first.to_ascii_uppercase(), &name[1..]);
        field.cx.report(
            Diagnostic::new(
                Rule::UnknownField,
                member.name_span,
                field.at.name(&member.name).place(),
                format!("a request to a service has no field `{name}`"),
            )
            .hint(format!("did you mean `{right}`? Its fields begin with a capital letter"))
            .service(format!("The field \"{name}\" is not supported by Step Functions"))
            .service_location(Some(field.at.place().service_location())),
        );
    }
}

/// Without the `.$` of JSONPath.
fn bare(member: &Member, language: QueryLanguage) -> &str {
    match language {
        QueryLanguage::JsonPath => member.name.strip_suffix(".$").unwrap_or(&member.name),
        QueryLanguage::Jsonata => &member.name,
    }
}

fn names(member: &Member, field: &str, language: QueryLanguage) -> bool {
    bare(member, language) == field
}
