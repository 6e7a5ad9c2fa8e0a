//! What a template has and this server has not: reported once for each type.

use std::collections::BTreeMap;

use everstep_source::{Diagnostic, Place, Span};

use super::resource::Resource;
use crate::reader::File;
use crate::rule::Rule;

#[derive(Default)]
pub(super) struct Unavailable {
    kinds: BTreeMap<String, Found>,
}

struct Found {
    span: Span,
    ids: Vec<String>,
    why: Option<String>,
}

/// Permissions, logs, networks and names of versions: nothing here depends on them.
const WITHOUT_EFFECT: [&str; 16] = [
    "AWS::ApiGateway::Account",
    "AWS::CDK::",
    "AWS::CloudFormation::",
    "AWS::CloudWatch::",
    "AWS::EC2::",
    "AWS::IAM::",
    "AWS::KMS::",
    "AWS::Lambda::Alias",
    "AWS::Lambda::Permission",
    "AWS::Lambda::Version",
    "AWS::Logs::",
    "AWS::S3::BucketPolicy",
    "AWS::SNS::TopicPolicy",
    "AWS::SQS::QueuePolicy",
    "AWS::Serverless::Connector",
    "AWS::StepFunctions::StateMachineAlias",
];

impl Unavailable {
    pub(super) fn add(&mut self, resource: &Resource<'_>) {
        let without_effect = WITHOUT_EFFECT.iter().any(|known| resource.kind.starts_with(known));
        if !without_effect && !resource.kind.is_empty() {
            self.note(resource.kind.to_owned(), resource, None);
        }
    }

    /// A resource of a type that is provided, but not this one.
    pub(super) fn add_because(&mut self, resource: &Resource<'_>, why: String) {
        self.note(format!("{}: {why}", resource.kind), resource, Some(why));
    }

    fn note(&mut self, key: String, resource: &Resource<'_>, why: Option<String>) {
        let found = self.kinds.entry(key).or_insert_with(|| Found {
            span: resource.id_span,
            ids: Vec::new(),
            why,
        });
        found.ids.push(resource.id.to_owned());
    }

    pub(super) fn report(&self, file: &File<'_>) {
        for (kind, found) in &self.kinds {
            let ids = found.ids.join(", ");
            let message = match &found.why {
                Some(why) => format!("not available here: {ids} ({why})"),
                None => format!("not available here: {ids} (`{kind}`)"),
            };
            let hint = match &found.why {
                Some(_) => "state machines that need it fail unless the call is mocked",
                None => "calls of it fail unless they are mocked or go to a service of your own",
            };
            let found =
                Diagnostic::new(Rule::UnavailableResource, found.span, Place::root(), message);
            file.report(found.hint(hint).in_file(file.index));
        }
    }
}
