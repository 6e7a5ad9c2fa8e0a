//! A resource of a template: its logical id, type and properties, not evaluated yet.

use everstep_source::Span;
use everstep_source::document::Node;

use super::build::field;

pub(super) struct Resource<'n> {
    /// The logical id.
    pub(super) id: &'n str,
    pub(super) id_span: Span,
    /// `AWS::SQS::Queue`
    pub(super) kind: &'n str,
    pub(super) properties: Option<&'n Node>,
    /// What tools have noted beside it.
    pub(super) metadata: Option<&'n Node>,
}

impl<'n> Resource<'n> {
    /// A property as it is written.
    pub(super) fn property(&self, name: &str) -> Option<&'n Node> {
        self.properties.and_then(|node| field(node, name)).map(|member| &member.value)
    }

    pub(super) fn metadata(&self, name: &str) -> Option<&'n Node> {
        self.metadata.and_then(|node| field(node, name)).map(|member| &member.value)
    }

    /// `SQS`, of `AWS::SQS::Queue`.
    pub(super) fn service(&self) -> &'n str {
        self.kind.split("::").nth(1).unwrap_or_default()
    }
}
