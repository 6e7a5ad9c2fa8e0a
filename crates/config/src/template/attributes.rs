//! What `Ref` and `Fn::GetAtt` say of a resource: names, ARNs and URLs as this server has them.

use super::resource::Resource;
use super::scope::Scope;

/// The physical name: the property that names it, else its logical id.
pub(super) fn name(scope: &Scope<'_>, resource: &Resource<'_>) -> Option<String> {
    let property = name_property(resource.kind);
    let written = scope.property(resource, property);
    let Some(written) = written else { return Some(default_name(resource)) };
    let within = format!("{}.{property}", resource.id);
    scope.within(&within, resource.id_span, || scope.text(&written))
}

/// A FIFO queue or topic has its suffix also if nobody names it.
fn default_name(resource: &Resource<'_>) -> String {
    let is_fifo = ["FifoQueue", "FifoTopic"].iter().any(|property| {
        let value = resource.property(property).and_then(super::build::text);
        value.as_deref() == Some("true")
    });
    format!("{}{}", resource.id, if is_fifo { ".fifo" } else { "" })
}

fn name_property(kind: &str) -> &'static str {
    match kind {
        "AWS::Serverless::Function" | "AWS::Lambda::Function" => "FunctionName",
        "AWS::Serverless::StateMachine" => "Name",
        "AWS::StepFunctions::StateMachine" => "StateMachineName",
        "AWS::SQS::Queue" => "QueueName",
        "AWS::SNS::Topic" => "TopicName",
        "AWS::S3::Bucket" => "BucketName",
        "AWS::DynamoDB::Table" | "AWS::Serverless::SimpleTable" => "TableName",
        "AWS::IAM::Role" => "RoleName",
        "AWS::Logs::LogGroup" => "LogGroupName",
        _ => "Name",
    }
}

/// What `Ref` gives.
pub(super) fn reference(scope: &Scope<'_>, resource: &Resource<'_>) -> Option<String> {
    match resource.kind {
        "AWS::Serverless::StateMachine"
        | "AWS::StepFunctions::StateMachine"
        | "AWS::StepFunctions::Activity"
        | "AWS::SNS::Topic"
        | "AWS::SecretsManager::Secret"
        | "AWS::Batch::JobQueue"
        | "AWS::Batch::JobDefinition" => arn(scope, resource),
        "AWS::SQS::Queue" => queue_url(scope, resource),
        _ => name(scope, resource),
    }
}

/// What `Fn::GetAtt` gives. An attribute that is not known here is named by itself.
pub(super) fn attribute(
    scope: &Scope<'_>,
    resource: &Resource<'_>,
    attribute: &str,
) -> Option<String> {
    match attribute {
        "Arn" | "TopicArn" | "QueueArn" => arn(scope, resource),
        "Name" | "QueueName" | "TopicName" | "FunctionName" | "TableName" => name(scope, resource),
        "QueueUrl" => queue_url(scope, resource),
        "Value" => scope.text(&scope.property(resource, "Value")?),
        other => Some(format!("{}.{other}", resource.id)),
    }
}

fn queue_url(scope: &Scope<'_>, resource: &Resource<'_>) -> Option<String> {
    let (region, account) = (scope.region(), scope.account());
    Some(format!("https://sqs.{region}.amazonaws.com/{account}/{}", name(scope, resource)?))
}

fn arn(scope: &Scope<'_>, resource: &Resource<'_>) -> Option<String> {
    let (region, account) = (scope.region(), scope.account());
    let name = name(scope, resource)?;
    let (service, path) = match resource.kind {
        "AWS::Serverless::Function" | "AWS::Lambda::Function" => {
            ("lambda", format!("function:{name}"))
        }
        "AWS::Serverless::StateMachine" | "AWS::StepFunctions::StateMachine" => {
            ("states", format!("stateMachine:{name}"))
        }
        "AWS::StepFunctions::Activity" => ("states", format!("activity:{name}")),
        "AWS::DynamoDB::Table" | "AWS::Serverless::SimpleTable" => {
            ("dynamodb", format!("table/{name}"))
        }
        "AWS::S3::Bucket" => return Some(format!("arn:aws:s3:::{name}")),
        "AWS::IAM::Role" => return Some(format!("arn:aws:iam::{account}:role/{name}")),
        "AWS::Events::EventBus" => ("events", format!("event-bus/{name}")),
        "AWS::Events::Rule" => ("events", format!("rule/{name}")),
        "AWS::Logs::LogGroup" => ("logs", format!("log-group:{name}")),
        "AWS::SecretsManager::Secret" => ("secretsmanager", format!("secret:{name}")),
        _ => {
            let service = resource.service().to_ascii_lowercase();
            return Some(format!("arn:aws:{service}:{region}:{account}:{name}"));
        }
    };
    Some(format!("arn:aws:{service}:{region}:{account}:{path}"))
}
