//! The operations of AWS Lambda that are not here, by the requests that ask for them.

use axum::http::{Method, Uri};

/// The name of the operation that a request asks for.
pub(super) fn find(method: &Method, uri: &Uri) -> Option<&'static str> {
    let path: Vec<&str> = uri.path().trim_matches('/').split('/').collect();
    let query = uri.query().unwrap_or_default();
    let asked = |(by, at, _): &&(&str, &str, &str)| {
        let (at, wanted) = at.split_once('?').unwrap_or((at, ""));
        *by == method.as_str() && query.contains(wanted) && is_at(at, &path)
    };
    OPERATIONS.iter().find(asked).map(|(_, _, name)| *name)
}

/// A star is any one part.
fn is_at(pattern: &str, path: &[&str]) -> bool {
    let mut path = path.iter();
    let same = pattern.split('/').all(|wanted| {
        path.next().is_some_and(|part| wanted == *part || (wanted == "*" && !part.is_empty()))
    });
    same && path.next().is_none()
}

/// As the service's model has them; `tests/aws/test_lambda.py` holds this table against botocore's.
#[rustfmt::skip]
const OPERATIONS: &[(&str, &str, &str)] = &[
    ("POST", "2014-11-13/functions/*/invoke-async", "InvokeAsync"),
    ("GET", "2015-03-31/event-source-mappings", "ListEventSourceMappings"),
    ("POST", "2015-03-31/event-source-mappings", "CreateEventSourceMapping"),
    ("DELETE", "2015-03-31/event-source-mappings/*", "DeleteEventSourceMapping"),
    ("GET", "2015-03-31/event-source-mappings/*", "GetEventSourceMapping"),
    ("PUT", "2015-03-31/event-source-mappings/*", "UpdateEventSourceMapping"),
    ("POST", "2015-03-31/functions", "CreateFunction"),
    ("DELETE", "2015-03-31/functions/*", "DeleteFunction"),
    ("GET", "2015-03-31/functions/*/aliases", "ListAliases"),
    ("POST", "2015-03-31/functions/*/aliases", "CreateAlias"),
    ("DELETE", "2015-03-31/functions/*/aliases/*", "DeleteAlias"),
    ("GET", "2015-03-31/functions/*/aliases/*", "GetAlias"),
    ("PUT", "2015-03-31/functions/*/aliases/*", "UpdateAlias"),
    ("PUT", "2015-03-31/functions/*/code", "UpdateFunctionCode"),
    ("PUT", "2015-03-31/functions/*/configuration", "UpdateFunctionConfiguration"),
    ("GET", "2015-03-31/functions/*/policy", "GetPolicy"),
    ("POST", "2015-03-31/functions/*/policy", "AddPermission"),
    ("DELETE", "2015-03-31/functions/*/policy/*", "RemovePermission"),
    ("GET", "2015-03-31/functions/*/versions", "ListVersionsByFunction"),
    ("POST", "2015-03-31/functions/*/versions", "PublishVersion"),
    ("GET", "2016-08-19/account-settings", "GetAccountSettings"),
    ("DELETE", "2017-03-31/tags/*", "UntagResource"),
    ("GET", "2017-03-31/tags/*", "ListTags"),
    ("POST", "2017-03-31/tags/*", "TagResource"),
    ("DELETE", "2017-10-31/functions/*/concurrency", "DeleteFunctionConcurrency"),
    ("PUT", "2017-10-31/functions/*/concurrency", "PutFunctionConcurrency"),
    ("GET", "2018-10-31/layers?find=LayerVersion", "GetLayerVersionByArn"),
    ("GET", "2018-10-31/layers", "ListLayers"),
    ("GET", "2018-10-31/layers/*/versions", "ListLayerVersions"),
    ("POST", "2018-10-31/layers/*/versions", "PublishLayerVersion"),
    ("DELETE", "2018-10-31/layers/*/versions/*", "DeleteLayerVersion"),
    ("GET", "2018-10-31/layers/*/versions/*", "GetLayerVersion"),
    ("GET", "2018-10-31/layers/*/versions/*/policy", "GetLayerVersionPolicy"),
    ("POST", "2018-10-31/layers/*/versions/*/policy", "AddLayerVersionPermission"),
    ("DELETE", "2018-10-31/layers/*/versions/*/policy/*", "RemoveLayerVersionPermission"),
    ("DELETE", "2019-09-25/functions/*/event-invoke-config", "DeleteFunctionEventInvokeConfig"),
    ("GET", "2019-09-25/functions/*/event-invoke-config", "GetFunctionEventInvokeConfig"),
    ("POST", "2019-09-25/functions/*/event-invoke-config", "UpdateFunctionEventInvokeConfig"),
    ("PUT", "2019-09-25/functions/*/event-invoke-config", "PutFunctionEventInvokeConfig"),
    ("GET", "2019-09-25/functions/*/event-invoke-config/list", "ListFunctionEventInvokeConfigs"),
    ("GET", "2019-09-30/functions/*/concurrency", "GetFunctionConcurrency"),
    ("DELETE", "2019-09-30/functions/*/provisioned-concurrency", "DeleteProvisionedConcurrencyConfig"),
    ("GET", "2019-09-30/functions/*/provisioned-concurrency?List=ALL", "ListProvisionedConcurrencyConfigs"),
    ("GET", "2019-09-30/functions/*/provisioned-concurrency", "GetProvisionedConcurrencyConfig"),
    ("PUT", "2019-09-30/functions/*/provisioned-concurrency", "PutProvisionedConcurrencyConfig"),
    ("GET", "2020-04-22/code-signing-configs", "ListCodeSigningConfigs"),
    ("POST", "2020-04-22/code-signing-configs", "CreateCodeSigningConfig"),
    ("DELETE", "2020-04-22/code-signing-configs/*", "DeleteCodeSigningConfig"),
    ("GET", "2020-04-22/code-signing-configs/*", "GetCodeSigningConfig"),
    ("PUT", "2020-04-22/code-signing-configs/*", "UpdateCodeSigningConfig"),
    ("GET", "2020-04-22/code-signing-configs/*/functions", "ListFunctionsByCodeSigningConfig"),
    ("DELETE", "2020-06-30/functions/*/code-signing-config", "DeleteFunctionCodeSigningConfig"),
    ("GET", "2020-06-30/functions/*/code-signing-config", "GetFunctionCodeSigningConfig"),
    ("PUT", "2020-06-30/functions/*/code-signing-config", "PutFunctionCodeSigningConfig"),
    ("GET", "2021-07-20/functions/*/runtime-management-config", "GetRuntimeManagementConfig"),
    ("PUT", "2021-07-20/functions/*/runtime-management-config", "PutRuntimeManagementConfig"),
    ("DELETE", "2021-10-31/functions/*/url", "DeleteFunctionUrlConfig"),
    ("GET", "2021-10-31/functions/*/url", "GetFunctionUrlConfig"),
    ("POST", "2021-10-31/functions/*/url", "CreateFunctionUrlConfig"),
    ("PUT", "2021-10-31/functions/*/url", "UpdateFunctionUrlConfig"),
    ("GET", "2021-10-31/functions/*/urls", "ListFunctionUrlConfigs"),
    ("POST", "2021-11-15/functions/*/response-streaming-invocations", "InvokeWithResponseStream"),
    ("GET", "2024-08-31/functions/*/recursion-config", "GetFunctionRecursionConfig"),
    ("PUT", "2024-08-31/functions/*/recursion-config", "PutFunctionRecursionConfig"),
    ("GET", "2025-11-30/capacity-providers", "ListCapacityProviders"),
    ("POST", "2025-11-30/capacity-providers", "CreateCapacityProvider"),
    ("DELETE", "2025-11-30/capacity-providers/*", "DeleteCapacityProvider"),
    ("GET", "2025-11-30/capacity-providers/*", "GetCapacityProvider"),
    ("PUT", "2025-11-30/capacity-providers/*", "UpdateCapacityProvider"),
    ("GET", "2025-11-30/capacity-providers/*/function-versions", "ListFunctionVersionsByCapacityProvider"),
    ("GET", "2025-11-30/functions/*/function-scaling-config", "GetFunctionScalingConfig"),
    ("PUT", "2025-11-30/functions/*/function-scaling-config", "PutFunctionScalingConfig"),
    ("POST", "2025-12-01/durable-execution-callbacks/*/fail", "SendDurableExecutionCallbackFailure"),
    ("POST", "2025-12-01/durable-execution-callbacks/*/heartbeat", "SendDurableExecutionCallbackHeartbeat"),
    ("POST", "2025-12-01/durable-execution-callbacks/*/succeed", "SendDurableExecutionCallbackSuccess"),
    ("GET", "2025-12-01/durable-executions/*", "GetDurableExecution"),
    ("POST", "2025-12-01/durable-executions/*/checkpoint", "CheckpointDurableExecution"),
    ("GET", "2025-12-01/durable-executions/*/history", "GetDurableExecutionHistory"),
    ("GET", "2025-12-01/durable-executions/*/state", "GetDurableExecutionState"),
    ("POST", "2025-12-01/durable-executions/*/stop", "StopDurableExecution"),
    ("GET", "2025-12-01/functions/*/durable-executions", "ListDurableExecutionsByFunction"),
    ("DELETE", "2026-07-09/resource-policy/*", "DeleteResourcePolicy"),
    ("GET", "2026-07-09/resource-policy/*", "GetResourcePolicy"),
    ("PUT", "2026-07-09/resource-policy/*", "PutResourcePolicy"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, expected: Option<&str>) {
        let (method, uri) = request.split_once(' ').unwrap();
        let found = find(&method.parse().unwrap(), &uri.parse().unwrap());
        assert_eq!(found, expected, "{request}");
    }

    #[test]
    fn operations_have_names() {
        check("POST /2015-03-31/functions", Some("CreateFunction"));
        check("DELETE /2015-03-31/functions/greet", Some("DeleteFunction"));
        check("POST /2014-11-13/functions/greet/invoke-async/", Some("InvokeAsync"));
        check("GET /2017-03-31/tags/arn%3Aaws%3Alambda", Some("ListTags"));
        check("GET /2018-10-31/layers", Some("ListLayers"));
        check("GET /2018-10-31/layers?find=LayerVersion&Arn=a", Some("GetLayerVersionByArn"));
        check("DELETE /2015-03-31/functions/", None);
        check("GET /2015-03-31/functions/greet/nothing", None);
        check("GET /", None);
    }
}
