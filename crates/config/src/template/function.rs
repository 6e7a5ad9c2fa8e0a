//! `AWS::Serverless::Function` and `AWS::Lambda::Function`.

use everstep_source::Span;
use everstep_source::document::{Content, Member, Node};

use super::attributes;
use super::build::{field, member, numeric, object, string, text};
use super::resource::Resource;
use super::scope::Scope;
use super::unavailable::Unavailable;

/// Lambda's, in seconds.
const TIMEOUT: u32 = 3;

/// The function, or nothing if this server cannot run it.
pub(super) fn translate(
    scope: &Scope<'_>,
    resource: &Resource<'_>,
    unavailable: &mut Unavailable,
) -> Option<Member> {
    let property = |name: &str| {
        let written = scope.property(resource, name)?;
        scope.evaluate(&written)
    };
    if let Some(why) = not_run(property("PackageType"), property("Runtime")) {
        unavailable.add_because(resource, why);
        return None;
    }
    let mut members = Vec::new();
    let mut take = |name: &str, property: Option<Node>| {
        members.extend(property.map(|value| member(name, value.span, value)));
    };
    take("runtime", property("Runtime"));
    take("handler", property("Handler"));
    match code(scope, resource) {
        Code::Folder(folder) => take("codeUri", Some(folder)),
        Code::Inline(text) => take("inlineCode", Some(text)),
        Code::Here => {}
        Code::Elsewhere(why) => {
            unavailable.add_because(resource, why);
            return None;
        }
    }
    take("env", property("Environment").and_then(|environment| variables(&environment)));
    let number = |name: &str| property(name).map(|value| numeric(value, &[]));
    take("timeout", Some(number("Timeout").unwrap_or_else(|| default_timeout(resource.id_span))));
    take("memory", number("MemorySize"));
    take("concurrency", number("ReservedConcurrentExecutions"));
    let numbers = ["MaximumRetryAttempts", "MaximumEventAgeInSeconds"];
    take("EventInvokeConfig", property("EventInvokeConfig").map(|value| numeric(value, &numbers)));
    take("DeadLetterQueue", property("DeadLetterQueue"));
    take(
        "DeadLetterQueue",
        property("DeadLetterConfig").filter(|config| field(config, "TargetArn").is_some()),
    );
    let name = attributes::name(scope, resource)?;
    Some(member(&name, resource.id_span, object(resource.id_span, members)))
}

fn default_timeout(span: Span) -> Node {
    Node { span, content: Content::Number(TIMEOUT.into()) }
}

/// Why a function cannot run here, if so.
fn not_run(package: Option<Node>, runtime: Option<Node>) -> Option<String> {
    if package.as_ref().and_then(Node::as_str) == Some("Image") {
        return Some("container images are not run".to_owned());
    }
    let runtime = runtime?;
    let name = runtime.as_str()?;
    let runs = ["python3", "nodejs", "provided"].iter().any(|known| name.starts_with(known));
    (!runs).then(|| format!("the runtime {name} is not run"))
}

enum Code {
    Folder(Node),
    Inline(Node),
    /// In the folder of the template.
    Here,
    Elsewhere(String),
}

/// Where the code is: SAM names a folder or holds it, CloudFormation holds it, and the CDK says in the metadata where
/// it has put it.
fn code(scope: &Scope<'_>, resource: &Resource<'_>) -> Code {
    if let Some(asset) = resource.metadata("aws:asset:path") {
        return Code::Folder(asset.clone());
    }
    if let Some(inline) = scope.property(resource, "InlineCode") {
        return scope.evaluate(&inline).map_or(Code::Here, Code::Inline);
    }
    let written = scope.property(resource, "CodeUri").or_else(|| scope.property(resource, "Code"));
    let Some(value) = written.and_then(|written| scope.evaluate(&written)) else {
        return Code::Here;
    };
    if let Some(inline) = field(&value, "ZipFile") {
        return Code::Inline(inline.value.clone());
    }
    match value.as_str() {
        Some(path) if path.contains("://") => Code::Elsewhere(format!("its code is at {path}")),
        Some(_) => Code::Folder(value),
        None => Code::Elsewhere("its code is in a bucket".to_owned()),
    }
}

/// `Environment: {Variables: {…}}`. What looks like a variable of ours is taken as it is written.
fn variables(environment: &Node) -> Option<Node> {
    let variables = &field(environment, "Variables")?.value;
    let members = variables.as_object()?.iter().map(|variable| {
        let value = text(&variable.value).unwrap_or_else(|| variable.value.to_value().to_string());
        Member { value: string(variable.value.span, literal(&value)), ..variable.clone() }
    });
    Some(object(variables.span, members.collect()))
}

/// A text in which nothing is filled in.
pub(super) fn literal(text: &str) -> String {
    text.replace("${", "$${")
}
