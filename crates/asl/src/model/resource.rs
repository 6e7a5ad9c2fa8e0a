//! What a Task's `Resource` names.

use std::borrow::Cow;

use serde_json::Value;

/// A resource by how it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// `arn:aws:lambda:region:account:function:name`
    Lambda { arn: String },
    /// `arn:aws:states:region:account:activity:name`
    Activity { arn: String },
    /// `arn:aws:states:::service:action.pattern`, `arn:aws:states:::aws-sdk:service:action.pattern`
    Service { arn: String, service: String, action: String, sdk: bool, pattern: Pattern },
    /// `https://…` or any other URI.
    Uri(String),
    /// `${…}`: a name that a deployment tool fills in.
    Placeholder(String),
}

/// What a task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    RequestResponse,
    /// `.sync`
    Sync,
    /// `.sync:2`
    Sync2,
    /// `.waitForTaskToken`
    WaitForTaskToken,
}

impl Resource {
    /// By form alone; whether a service offers the action is a rule's concern.
    #[must_use]
    pub fn classify(text: &str) -> Self {
        if has_placeholder(text) {
            return Self::Placeholder(text.to_owned());
        }
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        match parts.as_slice() {
            ["arn", _, "lambda", _, _, rest] if rest.starts_with("function:") => {
                Self::Lambda { arn: text.to_owned() }
            }
            ["arn", _, "states", _, _, rest] if rest.starts_with("activity:") => {
                Self::Activity { arn: text.to_owned() }
            }
            ["arn", _, "states", _, "", rest] => Self::service(text, rest),
            _ => Self::Uri(text.to_owned()),
        }
    }

    fn service(text: &str, rest: &str) -> Self {
        let (rest, pattern) = Pattern::split(rest);
        let (sdk, rest) = match rest.strip_prefix("aws-sdk:") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        match rest.split_once(':') {
            Some((service, action)) if !service.is_empty() && !action.is_empty() => Self::Service {
                arn: text.to_owned(),
                service: service.to_owned(),
                action: action.to_owned(),
                sdk,
                pattern,
            },
            _ => Self::Uri(text.to_owned()),
        }
    }

    /// As written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Lambda { arn } | Self::Activity { arn } | Self::Service { arn, .. } => arn,
            Self::Uri(text) | Self::Placeholder(text) => text,
        }
    }

    #[must_use]
    pub fn pattern(&self) -> Pattern {
        match self {
            Self::Service { pattern, .. } => *pattern,
            _ => Pattern::RequestResponse,
        }
    }

    /// Whether something else finishes the task: its context object has a token then.
    #[must_use]
    pub fn has_token(&self) -> bool {
        self.pattern() != Pattern::RequestResponse
    }

    /// Whether a Lambda function does the work, by either way of naming it.
    #[must_use]
    pub fn is_lambda(&self) -> bool {
        match self {
            Self::Lambda { .. } => true,
            Self::Service { service, action, .. } => service == "lambda" && action == "invoke",
            _ => false,
        }
    }
}

/// Whether the text has a `${…}`, and none that stays open.
fn has_placeholder(text: &str) -> bool {
    let mut opened = text.split("${").skip(1).peekable();
    opened.peek().is_some() && opened.all(|rest| rest.contains('}'))
}

/// The bare name of a Lambda function: of an ARN, a part of one, or a name; without a version or alias.
#[must_use]
pub fn function_name(text: &str) -> Option<&str> {
    let name = text.split_once("function:").map_or(text, |(_, rest)| rest);
    let name = name.split(':').next().unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

/// The text of the event that `lambda:invoke` sends, by its parameter `Payload`: a string is that text, and must be
/// JSON; null is an empty object, as is nothing.
pub fn function_event(payload: Option<&Value>) -> Result<Cow<'_, str>, serde_json::Error> {
    match payload {
        None | Some(Value::Null) => Ok("{}".into()),
        Some(Value::String(text)) => {
            serde_json::from_str::<Value>(text)?;
            Ok(text.into())
        }
        Some(value) => Ok(value.to_string().into()),
    }
}

impl Pattern {
    fn split(text: &str) -> (&str, Self) {
        for (suffix, pattern) in [
            (".sync", Self::Sync),
            (".sync:2", Self::Sync2),
            (".waitForTaskToken", Self::WaitForTaskToken),
        ] {
            if let Some(rest) = text.strip_suffix(suffix) {
                return (rest, pattern);
            }
        }
        (text, Self::RequestResponse)
    }

    /// As it stands behind the action.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        match self {
            Self::RequestResponse => "",
            Self::Sync => ".sync",
            Self::Sync2 => ".sync:2",
            Self::WaitForTaskToken => ".waitForTaskToken",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn functions_have_many_names() {
        let check = |text: &str, expected| assert_eq!(function_name(text), expected, "{text}");
        check("f", Some("f"));
        check("f:live", Some("f"));
        check("arn:aws:lambda:us-east-1:123456789012:function:f", Some("f"));
        check("arn:aws:lambda:us-east-1:123456789012:function:f:$LATEST", Some("f"));
        check("123456789012:function:f", Some("f"));
        check("arn:aws:lambda:us-east-1:123456789012:function:", None);
        check("", None);
    }

    #[test]
    fn events_are_texts() {
        let check = |payload: Value, expected: Option<&str>| {
            assert_eq!(function_event(Some(&payload)).ok().as_deref(), expected, "{payload}");
        };
        check(json!({ "a": 1 }), Some("{\"a\":1}"));
        check(json!("{ \"a\": 1.0 }"), Some("{ \"a\": 1.0 }"));
        check(json!("\"text\""), Some("\"text\""));
        check(json!("[]"), Some("[]"));
        check(json!("text"), None);
        check(json!(""), None);
        check(Value::Null, Some("{}"));
        assert_eq!(function_event(None).unwrap(), "{}");
    }

    #[test]
    fn forms_are_told_apart() {
        let lambda = Resource::classify("arn:aws:lambda:us-east-1:123456789012:function:f");
        assert!(matches!(lambda, Resource::Lambda { .. }) && lambda.is_lambda());
        let activity = Resource::classify("arn:aws:states:us-east-1:123456789012:activity:a");
        assert!(matches!(activity, Resource::Activity { .. }));
        let Resource::Service { service, action, sdk, pattern, .. } =
            Resource::classify("arn:aws:states:::aws-sdk:dynamodb:getItem.waitForTaskToken")
        else {
            panic!("a service integration");
        };
        assert_eq!((&*service, &*action, sdk), ("dynamodb", "getItem", true));
        assert_eq!(pattern, Pattern::WaitForTaskToken);
        let sync = Resource::classify("arn:aws:states:::states:startExecution.sync:2");
        assert_eq!(sync.pattern(), Pattern::Sync2);
        for text in ["${Function.Arn}", "arn:${AWS::Partition}:states:::${Service}:invoke"] {
            assert!(matches!(Resource::classify(text), Resource::Placeholder(_)), "{text}");
        }
        for text in ["${Function", "${A}${B", "$Function}"] {
            assert!(matches!(Resource::classify(text), Resource::Uri(_)), "{text}");
        }
        assert!(matches!(Resource::classify("https://example.com/x"), Resource::Uri(_)));
        assert!(matches!(Resource::classify("arn:aws:states:::nothing"), Resource::Uri(_)));
    }
}
