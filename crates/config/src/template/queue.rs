//! `AWS::SQS::Queue`.

use everstep_source::document::Member;

use super::attributes;
use super::build::{member, object};
use super::resource::Resource;
use super::scope::Scope;

pub(super) fn translate(scope: &Scope<'_>, resource: &Resource<'_>) -> Member {
    let name = attributes::name(scope, resource).unwrap_or_else(|| resource.id.to_owned());
    member(&name, resource.id_span, object(resource.id_span, Vec::new()))
}
