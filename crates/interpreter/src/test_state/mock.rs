//! Whether a mock can stand in for what the state would do.

use everstep_asl::model::{Kind, Pattern, Resource, State, Task};
use everstep_shapes::{Required, output};
use serde_json::Value;

use super::request::{FieldValidation, Mock, RequestError};

/// Says why the result was not compared with what the action returns, if it should have been.
pub(super) fn check(mock: &Mock, state: &State) -> Result<Option<String>, RequestError> {
    if !matches!(state.kind, Kind::Task(_) | Kind::Map(_) | Kind::Parallel(_)) {
        return Err(RequestError::invalid(format!(
            "State type '{}' is not supported when a mock is specified",
            state.kind.name()
        )));
    }
    let text = match (&mock.result, &mock.error_output) {
        (Some(text), None) => text,
        (None, Some(_)) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(RequestError::invalid(
                "A test mock should have only one of the following fields: [result, errorOutput].",
            ));
        }
        (None, None) => {
            return Err(RequestError::invalid(
                "A test mock should have one of the following fields: [result, errorOutput].",
            ));
        }
    };
    let result = serde_json::from_str(text)
        .map_err(|_| RequestError::invalid("Mocked result must be valid JSON"))?;
    match &state.kind {
        Kind::Task(task) => of_task(task, &result, mock.field_validation),
        _ => of_scopes(state, &result).map(|()| None),
    }
}

/// The results of branches or iterations together.
fn of_scopes(state: &State, result: &Value) -> Result<(), RequestError> {
    let exported = matches!(&state.kind, Kind::Map(map)
        if map.result_writer.as_ref().is_some_and(|writer| writer.resource.is_some()));
    if exported {
        let message = "Mocked result must be a JSON object.";
        return result.is_object().then_some(()).ok_or_else(|| RequestError::invalid(message));
    }
    let Some(results) = result.as_array() else {
        return Err(RequestError::invalid("Mocked result must be an array."));
    };
    match &state.kind {
        Kind::Parallel(parallel) if parallel.branches.len() != results.len() => {
            Err(RequestError::invalid(
                "Mocked result must contain the same number of items as number of Parallel branches.",
            ))
        }
        _ => Ok(()),
    }
}

fn of_task(
    task: &Task,
    result: &Value,
    mode: FieldValidation,
) -> Result<Option<String>, RequestError> {
    let required = match mode {
        FieldValidation::Strict => Required::Checked,
        FieldValidation::Present => Required::Ignored,
        FieldValidation::None => return Ok(None),
    };
    let Some((service, action)) = returned_by(&task.resource) else { return Ok(None) };
    let Some(output) = output(service, action) else {
        return Ok(Some(format!(
            "the mocked result was not checked: what {service}:{action} returns is not known here"
        )));
    };
    output.check(result, required).map(|()| None).map_err(|mismatch| {
        RequestError::invalid(format!("Mock result schema validation error: {mismatch}"))
    })
}

/// The action whose response is the task's result, by the names of SDK integrations. None where the
/// result is whatever a function, a worker or an HTTP endpoint says.
fn returned_by(resource: &Resource) -> Option<(&str, &str)> {
    let Resource::Service { service, action, sdk, pattern, .. } = resource else { return None };
    let name = if *sdk { service } else { sdk_name(service, action)? };
    match pattern {
        Pattern::RequestResponse => Some((name, action)),
        Pattern::WaitForTaskToken => None,
        // The task ends when polling says so, and what was polled is its result.
        Pattern::Sync | Pattern::Sync2 => POLLED
            .iter()
            .find(|(polled, begun, _)| polled == &name && begun.contains(&action.as_str()))
            .map(|(_, _, polling)| (name, *polling)),
    }
}

/// The service behind an optimised integration; none if it has no API of its own.
fn sdk_name<'s>(service: &'s str, action: &str) -> Option<&'s str> {
    Some(match service {
        "apigateway" | "http" => return None,
        "bedrock" if action == "invokeModel" => "bedrockruntime",
        "elasticmapreduce" => "emr",
        "emr-containers" => "emrcontainers",
        "emr-serverless" => "emrserverless",
        "events" => "eventbridge",
        "states" => "sfn",
        same => same,
    })
}

/// By service: what `.sync` begins, and what is polled until it is done.
const POLLED: &[(&str, &[&str], &str)] = &[
    ("athena", &["startQueryExecution"], "getQueryExecution"),
    ("batch", &["submitJob"], "describeJobs"),
    ("bedrock", &["createModelCustomizationJob"], "getModelCustomizationJob"),
    ("codebuild", &["startBuild"], "batchGetBuilds"),
    ("codebuild", &["startBuildBatch"], "batchGetBuildBatches"),
    ("databrew", &["startJobRun"], "describeJobRun"),
    ("ecs", &["runTask"], "describeTasks"),
    ("eks", &["createCluster", "deleteCluster"], "describeCluster"),
    ("eks", &["createFargateProfile", "deleteFargateProfile"], "describeFargateProfile"),
    ("eks", &["createNodegroup", "deleteNodegroup"], "describeNodegroup"),
    ("emr", &["addStep"], "describeStep"),
    ("emr", &["createCluster", "terminateCluster"], "describeCluster"),
    ("emrcontainers", &["deleteVirtualCluster"], "describeVirtualCluster"),
    ("emrcontainers", &["startJobRun"], "describeJobRun"),
    ("emrserverless", &["startApplication", "stopApplication"], "getApplication"),
    ("emrserverless", &["startJobRun"], "getJobRun"),
    ("glue", &["startJobRun"], "getJobRun"),
    ("mediaconvert", &["createJob"], "getJob"),
    ("sagemaker", &["createHyperParameterTuningJob"], "describeHyperParameterTuningJob"),
    ("sagemaker", &["createLabelingJob"], "describeLabelingJob"),
    ("sagemaker", &["createProcessingJob"], "describeProcessingJob"),
    ("sagemaker", &["createTrainingJob"], "describeTrainingJob"),
    ("sagemaker", &["createTransformJob"], "describeTransformJob"),
    ("sfn", &["startExecution"], "describeExecution"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resource: &str, expected: Option<(&str, &str)>) {
        let resource = Resource::classify(&format!("arn:aws:states:::{resource}"));
        assert_eq!(returned_by(&resource), expected, "{resource:?}");
    }

    #[test]
    fn a_result_is_what_an_action_returns() {
        check("lambda:invoke", Some(("lambda", "invoke")));
        check("events:putEvents", Some(("eventbridge", "putEvents")));
        check("aws-sdk:kms:encrypt", Some(("kms", "encrypt")));
        check("bedrock:invokeModel", Some(("bedrockruntime", "invokeModel")));
        check("http:invoke", None);
    }

    #[test]
    fn a_job_is_what_polling_returns() {
        check("states:startExecution", Some(("sfn", "startExecution")));
        check("states:startExecution.sync:2", Some(("sfn", "describeExecution")));
        check("states:startExecution.waitForTaskToken", None);
        check("ecs:runTask.sync", Some(("ecs", "describeTasks")));
    }

    #[test]
    fn everything_polled_is_in_the_table() {
        for (service, begun, polling) in POLLED {
            assert!(output(service, polling).is_some(), "{service}:{polling} for {begun:?}");
        }
    }
}
