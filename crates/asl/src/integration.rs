//! The service integrations: which actions a `Resource` can name, and which patterns each has.

use everstep_source::{Severity, nearest};

use crate::model::{Pattern, Resource};
use crate::rule::Rule;

/// Why a resource cannot be called.
pub(crate) struct Problem {
    pub(crate) rule: Rule,
    pub(crate) severity: Severity,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The service's words.
    pub(crate) service: String,
}

pub(crate) fn problem(resource: &Resource) -> Option<Problem> {
    match resource {
        Resource::Uri(text) if is_uri(text) && !text.starts_with("arn:") => None,
        Resource::Uri(text) if text.starts_with("arn:") => foreign_arn(text),
        Resource::Uri(text) => Some(not_a_uri(text)),
        Resource::Service { service, action, sdk, pattern, .. } => {
            let found = if *sdk {
                sdk_problem(action, *pattern)
            } else {
                optimized_problem(service, action, *pattern)
            };
            found.map(|(message, hint)| unknown(resource.as_str(), message, hint))
        }
        Resource::Lambda { arn } => function_problem(arn),
        Resource::Activity { arn } => activity_problem(arn),
        Resource::Placeholder(_) => None,
    }
}

/// A bare word may be a name that a deployment tool or a local run fills in; anything else that is
/// no URI cannot be meant.
fn not_a_uri(text: &str) -> Problem {
    let bare = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let hint = if text.contains("${") {
        "close the placeholder: ${NAME}"
    } else {
        "a resource is an ARN such as arn:aws:states:::lambda:invoke, or an address"
    };
    Problem {
        severity: if bare { Severity::Warning } else { Severity::Error },
        ..invalid(format!("`{text}` is not a URI"), hint)
    }
}

fn invalid(message: String, hint: &str) -> Problem {
    Problem {
        rule: Rule::InvalidResource,
        severity: Severity::Error,
        message,
        hint: Some(hint.to_owned()),
        service: "Value is not a valid resource ARN".to_owned(),
    }
}

/// `…:function:NAME` or `…:function:NAME:QUALIFIER`.
fn function_problem(arn: &str) -> Option<Problem> {
    let parts: Vec<&str> = arn.split(':').skip(FUNCTION_PREFIX).collect();
    let qualifier = |text: &str| text == "$LATEST" || is_name(text);
    let right = match *parts {
        [name] => is_name(name),
        [name, version] => is_name(name) && qualifier(version),
        _ => false,
    };
    let form = "the form is arn:aws:lambda:REGION:ACCOUNT:function:NAME, or …:NAME:VERSION";
    (!right).then(|| invalid(format!("`{arn}` names no Lambda function"), form))
}

/// `…:activity:NAME`.
fn activity_problem(arn: &str) -> Option<Problem> {
    let mut parts = arn.split(':').skip(FUNCTION_PREFIX);
    let named = parts.next().is_some_and(|name| {
        !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control())
    });
    let form = "the form is arn:aws:states:REGION:ACCOUNT:activity:NAME";
    (!named || parts.next().is_some()).then(|| invalid(format!("`{arn}` names no activity"), form))
}

/// `arn:aws:lambda:REGION:ACCOUNT:function`
const FUNCTION_PREFIX: usize = 6;

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// An ARN of the Step Functions service that has none of its forms is a mistake; of other services,
/// the language does not constrain them.
fn foreign_arn(text: &str) -> Option<Problem> {
    let mut parts = text.split(':');
    let of_states = parts.nth(2) == Some("states") && parts.nth(1) == Some("");
    of_states.then(|| unknown(text, format!("`{text}` names no action"), Some(FORM.to_owned())))
}

const FORM: &str = "the form is arn:aws:states:::service:action";

fn unknown(arn: &str, message: String, hint: Option<String>) -> Problem {
    Problem {
        rule: Rule::UnknownIntegration,
        severity: Severity::Error,
        message,
        hint,
        service: format!(
            "The resource provided {arn} is not recognized. The value is not a valid resource ARN, or \
             the resource is not available in this region."
        ),
    }
}

/// A scheme and something behind it (RFC 3986, section 3).
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut characters = scheme.chars();
    characters.next().is_some_and(|first| first.is_ascii_alphabetic())
        && characters.all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
        && !rest.is_empty()
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
}

type Found = Option<(String, Option<String>)>;

fn sdk_problem(action: &str, pattern: Pattern) -> Found {
    if matches!(pattern, Pattern::Sync | Pattern::Sync2) {
        let message = format!("SDK integrations have no `{}`", pattern.suffix());
        return Some((message, Some("poll in a loop, or use .waitForTaskToken".to_owned())));
    }
    let first = action.chars().next()?;
    first.is_uppercase().then(|| {
        let camel: String = first.to_lowercase().chain(action.chars().skip(1)).collect();
        (format!("there is no SDK action `{action}`"), Some(format!("did you mean `{camel}`?")))
    })
}

fn optimized_problem(service: &str, action: &str, pattern: Pattern) -> Found {
    let Some((_, actions)) = OPTIMIZED.iter().find(|(name, _)| *name == service) else {
        let near = nearest(service, OPTIMIZED.iter().map(|(name, _)| *name));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("any action of a service: arn:aws:states:::aws-sdk:{service}:{action}"),
        };
        return Some((format!("there is no service integration `{service}`"), Some(hint)));
    };
    let Some((_, patterns)) = actions.iter().find(|(names, _)| names.contains(&action)) else {
        let near = nearest(action, actions.iter().flat_map(|(names, _)| names.iter().copied()));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("use arn:aws:states:::aws-sdk:{service}:{action}"),
        };
        return Some((format!("`{service}` has no action `{action}` here"), Some(hint)));
    };
    if pattern == Pattern::RequestResponse || patterns.contains(&pattern) {
        return None;
    }
    let message = format!("`{service}:{action}` cannot be called with `{}`", pattern.suffix());
    Some((message, None))
}

/// Actions that share their patterns; request-response goes without saying.
type Actions = (&'static [&'static str], &'static [Pattern]);

const PLAIN: &[Pattern] = &[];
const JOB: &[Pattern] = &[Pattern::Sync];
const CALLBACK: &[Pattern] = &[Pattern::WaitForTaskToken];
const JOB_OR_CALLBACK: &[Pattern] = &[Pattern::Sync, Pattern::WaitForTaskToken];

/// `arn:aws:states:::service:action`.
const OPTIMIZED: &[(&str, &[Actions])] = &[
    ("apigateway", &[(&["invoke"], CALLBACK)]),
    (
        "athena",
        &[
            (&["startQueryExecution"], JOB),
            (&["stopQueryExecution", "getQueryExecution", "getQueryResults"], PLAIN),
        ],
    ),
    ("batch", &[(&["submitJob"], JOB_OR_CALLBACK)]),
    ("bedrock", &[(&["createModelCustomizationJob", "invokeModel"], JOB_OR_CALLBACK)]),
    ("bedrockagentcore", &[(&["invokeHarness"], PLAIN)]),
    (
        "codebuild",
        &[
            (&["startBuild", "startBuildBatch", "retryBuildBatch"], JOB),
            (
                &[
                    "stopBuild",
                    "batchDeleteBuilds",
                    "batchGetReports",
                    "stopBuildBatch",
                    "deleteBuildBatch",
                ],
                PLAIN,
            ),
        ],
    ),
    ("databrew", &[(&["startJobRun"], JOB)]),
    ("dynamodb", &[(&["getItem", "putItem", "updateItem", "deleteItem"], PLAIN)]),
    ("ecs", &[(&["runTask"], JOB_OR_CALLBACK)]),
    (
        "eks",
        &[
            (&["call"], CALLBACK),
            (
                &[
                    "runJob",
                    "createCluster",
                    "deleteCluster",
                    "createNodegroup",
                    "deleteNodegroup",
                    "createFargateProfile",
                    "deleteFargateProfile",
                ],
                JOB_OR_CALLBACK,
            ),
        ],
    ),
    (
        "elasticmapreduce",
        &[
            (&["createCluster", "terminateCluster", "addStep"], JOB),
            (
                &[
                    "setClusterTerminationProtection",
                    "cancelStep",
                    "modifyInstanceFleetByName",
                    "modifyInstanceGroupByName",
                ],
                PLAIN,
            ),
        ],
    ),
    ("emr-containers", &[(&["createVirtualCluster", "deleteVirtualCluster", "startJobRun"], JOB)]),
    (
        "emr-serverless",
        &[(
            &[
                "createApplication",
                "startApplication",
                "stopApplication",
                "deleteApplication",
                "startJobRun",
                "cancelJobRun",
            ],
            JOB,
        )],
    ),
    ("events", &[(&["putEvents"], CALLBACK)]),
    ("glue", &[(&["startJobRun"], JOB)]),
    ("http", &[(&["invoke"], PLAIN)]),
    ("lambda", &[(&["invoke"], CALLBACK)]),
    ("mediaconvert", &[(&["createJob"], JOB)]),
    (
        "sagemaker",
        &[
            (
                &[
                    "createTrainingJob",
                    "createTransformJob",
                    "createHyperParameterTuningJob",
                    "createLabelingJob",
                    "createProcessingJob",
                ],
                JOB,
            ),
            (&["createModel", "createEndpoint", "createEndpointConfig", "updateEndpoint"], PLAIN),
        ],
    ),
    ("sns", &[(&["publish"], CALLBACK)]),
    ("sqs", &[(&["sendMessage"], CALLBACK)]),
    (
        "states",
        &[(&["startExecution"], &[Pattern::Sync, Pattern::Sync2, Pattern::WaitForTaskToken])],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resource: &str, expected: Option<&str>) {
        let found = problem(&Resource::classify(resource)).map(|problem| problem.message);
        assert_eq!(found.as_deref(), expected, "{resource}");
    }

    #[test]
    fn known_resources_pass() {
        for resource in [
            "arn:aws:lambda:us-east-1:123456789012:function:f",
            "arn:aws-cn:states:cn-north-1:123456789012:activity:a",
            "arn:aws:states:::lambda:invoke.waitForTaskToken",
            "arn:aws:states:::states:startExecution.sync:2",
            "arn:aws:states:::aws-sdk:s3:listBuckets",
            "arn:aws:states:us-east-1:123456789012:task:X",
            "https://example.com/charge",
            "${ChargeFunctionArn}",
        ] {
            check(resource, None);
        }
    }

    #[test]
    fn mistakes_are_named() {
        check("arn:aws:states:::dynamodb:query", Some("`dynamodb` has no action `query` here"));
        check("arn:aws:states:::lamda:invoke", Some("there is no service integration `lamda`"));
        check(
            "arn:aws:states:::lambda:invoke.sync",
            Some("`lambda:invoke` cannot be called with `.sync`"),
        );
        check(
            "arn:aws:states:::aws-sdk:s3:ListBuckets",
            Some("there is no SDK action `ListBuckets`"),
        );
        check("arn:aws:states:::lambda", Some("`arn:aws:states:::lambda` names no action"));
        check("not a resource", Some("`not a resource` is not a URI"));
        check("", Some("`` is not a URI"));
        check("${Function", Some("`${Function` is not a URI"));
        let function = "arn:aws:lambda:us-east-1:123456789012:function:";
        for name in ["", "f:", ":1", "f g", "f:1:2", "${F"] {
            let arn = format!("{function}{name}");
            check(&arn, Some(&format!("`{arn}` names no Lambda function")));
        }
        for name in ["f", "f_1-x", "f:1", "f:$LATEST", "f:live"] {
            check(&format!("{function}{name}"), None);
        }
        let activity = "arn:aws:states:us-east-1:123456789012:activity:";
        check(activity, Some(&format!("`{activity}` names no activity")));
    }
}
