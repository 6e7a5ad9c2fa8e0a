//! A request that the server rejected: its code, its message, and what to do about it.

use std::fmt;

use serde_json::Value;

/// An operation that was rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    operation: String,
    pub(crate) code: String,
    message: String,
}

pub(super) fn read(operation: &str, body: &Value) -> Refused {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let code = text("__type").unwrap_or("unnamed error");
    // Services put a namespace before it: `com.amazonaws.swf.service.v2.model#InvalidArn`.
    let code = code.rsplit('#').next().unwrap_or_default().to_owned();
    let message = text("message").or_else(|| text("Message")).unwrap_or("no message");
    Refused::new(operation, code, message.to_owned())
}

impl Refused {
    pub(super) fn new(operation: &str, code: String, message: String) -> Self {
        Self { operation: operation.to_owned(), code, message }
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self.code.as_str() {
            "StateMachineDoesNotExist" => "to list state machines, run `everstep machines list`",
            "ExecutionDoesNotExist" => "to list executions, run `everstep executions list`",
            "ActivityDoesNotExist" => "to list activities, run `everstep activities list`",
            "StateMachineAlreadyExists" => {
                "to change it, run `everstep machines update`; to create another one, use --name"
            }
            "StateMachineDeleting" => "it is deleted when its last execution has ended; retry then",
            "ExecutionAlreadyExists" => {
                "an execution of that name has ended or has another input; use another --name"
            }
            "ExecutionNotRedrivable" => {
                "an execution can be redriven for 14 days after it failed, timed out or was aborted"
            }
            "InvalidDefinition" => "to see every problem, run `everstep validate FILE`",
            "MissingAuthenticationTokenException" => {
                "the server requires signed requests: set EVERSTEP_ACCESS_KEYS=ID:SECRET, or AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY"
            }
            "UnrecognizedClientException" | "InvalidSignatureException" => {
                "the server does not know these keys: check EVERSTEP_ACCESS_KEYS, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            }
            "ThrottlingException" => "the server is overloaded; retry later",
            "UnknownOperationException" => {
                "the server does not support this operation; it may be older than this command"
            }
            "ResourceNotFoundException" if self.operation.ends_with("Invocation") => {
                "to list invocations, run `everstep invocations list`"
            }
            "ResourceConflictException" if self.operation == "CancelInvocation" => {
                "it has ended already; to see how, run `everstep invocations show ID`"
            }
            "TooManyRequestsException" if self.message.contains("its concurrency is 0") => {
                "set its `concurrency` to 1 or more in everstep.yaml"
            }
            "TooManyRequestsException" if self.operation == "Invoke" => "use --async to queue it",
            _ => return None,
        })
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, code, message } = self;
        write!(f, "{operation} failed: {code}: {message}")?;
        self.hint().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let refused = read("StopExecution", &serde_json::from_str(body).unwrap());
        assert_eq!(refused.to_string(), expected, "{body}");
    }

    #[test]
    fn refusals() {
        check(
            r#"{"__type": "com.amazonaws.swf.service.v2.model#ExecutionDoesNotExist", "message": "No."}"#,
            "StopExecution failed: ExecutionDoesNotExist: No.\n\
             hint: to list executions, run `everstep executions list`",
        );
        check(
            r#"{"__type": "InvalidArn", "Message": "No."}"#,
            "StopExecution failed: InvalidArn: No.",
        );
        check("{}", "StopExecution failed: unnamed error: no message");
    }
}
