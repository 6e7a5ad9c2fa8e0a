//! `AWS::Serverless::StateMachine` and `AWS::StepFunctions::StateMachine`.

use everstep_source::document::{Member, Node};

use super::attributes;
use super::build::{member, object, string};
use super::resource::Resource;
use super::scope::Scope;
use super::unavailable::Unavailable;

/// The state machine, or nothing if its definition is not here.
pub(super) fn translate(
    scope: &Scope<'_>,
    resource: &Resource<'_>,
    unavailable: &mut Unavailable,
) -> Option<Member> {
    let property = |name: &str| {
        let written = scope.property(resource, name)?;
        scope.evaluate(&written)
    };
    let Some(definition) = definition(resource, property) else {
        unavailable.add_because(resource, "its definition is in a bucket".to_owned());
        return None;
    };
    let mut members = vec![member("definition", definition.span, definition)];
    let mut take = |name: &str, value: Option<Node>| {
        members.extend(value.map(|value| member(name, value.span, value)));
    };
    take("definitionSubstitutions", property("DefinitionSubstitutions"));
    take("type", property("Type").or_else(|| property("StateMachineType")));
    // Who writes a template means the service as it is.
    take("dialect", Some(string(resource.id_span, "aws")));
    let name = attributes::name(scope, resource)?;
    Some(member(&name, resource.id_span, object(resource.id_span, members)))
}

/// A path, the text, or the fields themselves.
fn definition(resource: &Resource<'_>, property: impl Fn(&str) -> Option<Node>) -> Option<Node> {
    if let Some(asset) = resource.metadata("aws:asset:path") {
        return Some(asset.clone());
    }
    let path = property("DefinitionUri").filter(|uri| uri.as_str().is_some_and(is_local));
    path.or_else(|| property("DefinitionString")).or_else(|| property("Definition"))
}

fn is_local(path: &str) -> bool {
    !path.contains("://")
}
