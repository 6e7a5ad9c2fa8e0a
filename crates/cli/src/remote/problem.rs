//! What a server refuses, in words: its code, its message, and what to do about it.

use serde_json::Value;

/// An operation that was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refused {
    operation: String,
    pub(crate) code: String,
    message: String,
}

pub(super) fn read(operation: &str, body: &Value) -> Refused {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    let code = text("__type").unwrap_or("an error without a name");
    // Services put a namespace before it: `com.amazonaws.swf.service.v2.model#InvalidArn`.
    let code = code.rsplit('#').next().unwrap_or_default().to_owned();
    let message = text("message").or_else(|| text("Message")).unwrap_or("it does not say why");
    Refused::new(operation, code, message.to_owned())
}

impl Refused {
    pub(super) fn new(operation: &str, code: String, message: String) -> Self {
        Self { operation: operation.to_owned(), code, message }
    }

    pub(crate) fn in_words(&self) -> String {
        let Self { operation, code, message } = self;
        match self.hint() {
            Some(hint) => format!("{operation} is refused: {code}: {message}\nhint: {hint}"),
            None => format!("{operation} is refused: {code}: {message}"),
        }
    }

    fn hint(&self) -> Option<&'static str> {
        Some(match self.code.as_str() {
            "StateMachineDoesNotExist" => "`everstep machines list` shows those that there are",
            "ExecutionDoesNotExist" => "`everstep executions list` shows those that there are",
            "ActivityDoesNotExist" => "`everstep activities list` shows those that there are",
            "StateMachineAlreadyExists" => {
                "`everstep machines update` changes it; --name gives the new one another name"
            }
            "StateMachineDeleting" => {
                "it is gone when its last execution has ended; try again then"
            }
            "ExecutionAlreadyExists" => {
                "an execution of that name has another input or has ended; choose another --name"
            }
            "ExecutionNotRedrivable" => {
                "only executions that failed, timed out or were aborted go on from where they were, for 14 days"
            }
            "InvalidDefinition" => "`everstep validate FILE` shows every problem with its place",
            "MissingAuthenticationTokenException" => {
                "this server wants signed requests: set EVERSTEP_ACCESS_KEYS=ID:SECRET, or AWS_ACCESS_KEY_ID and \
                 AWS_SECRET_ACCESS_KEY"
            }
            "UnrecognizedClientException" | "InvalidSignatureException" => {
                "the server has other access keys: see EVERSTEP_ACCESS_KEYS, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            }
            "ThrottlingException" => "the server has more to do than it can; try again",
            "UnknownOperationException" => {
                "this is another kind of server, or one that is older than this command"
            }
            "ResourceNotFoundException" if self.operation.ends_with("Invocation") => {
                "`everstep invocations list` shows those that there are"
            }
            "ResourceConflictException" if self.operation == "CancelInvocation" => {
                "what has ended cannot be cancelled; `everstep invocations show ID` tells how it ended"
            }
            "TooManyRequestsException" if self.message.contains("its concurrency is 0") => {
                "give it a `concurrency` of 1 or more in everstep.yaml"
            }
            "TooManyRequestsException" if self.operation == "Invoke" => {
                "--async lets it wait for its turn"
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let refused = read("StopExecution", &serde_json::from_str(body).unwrap());
        assert_eq!(refused.in_words(), expected, "{body}");
    }

    #[test]
    fn refusals() {
        check(
            r#"{"__type": "com.amazonaws.swf.service.v2.model#ExecutionDoesNotExist", "message": "No."}"#,
            "StopExecution is refused: ExecutionDoesNotExist: No.\n\
             hint: `everstep executions list` shows those that there are",
        );
        check(
            r#"{"__type": "InvalidArn", "Message": "No."}"#,
            "StopExecution is refused: InvalidArn: No.",
        );
        check("{}", "StopExecution is refused: an error without a name: it does not say why");
    }
}
