//! The ARNs of things that can be targets.

use crate::Target;

/// Region and account play no part: the last part is the name.
pub(crate) fn target(text: &str) -> Option<Target> {
    let parts: Vec<&str> = text.strip_prefix("arn:")?.split(':').collect();
    let (target, name): (fn(String) -> Target, &str) = match *parts {
        [_, "lambda", _, _, "function", name] | [_, "lambda", _, _, "function", name, _] => {
            (Target::Function, name)
        }
        [_, "sqs", _, _, name] => (Target::Queue, name),
        [_, "states", _, _, "stateMachine", name] => (Target::StateMachine, name),
        _ => return None,
    };
    (!name.is_empty()).then(|| target(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        assert_eq!(target(text).map(|target| target.to_string()).as_deref(), expected, "{text}");
    }

    #[test]
    fn arns_name_targets() {
        check("arn:aws:lambda:us-west-2:012345678901:function:a", Some("function:a"));
        check("arn:aws:lambda:us-west-2:012345678901:function:a:$LATEST", Some("function:a"));
        check("arn:aws-cn:sqs:cn-north-1:012345678901:my-queue", Some("queue:my-queue"));
        check("arn:aws:states:us-west-2:012345678901:stateMachine:m", Some("stateMachine:m"));
        for other in ["", "arn:", "arn:aws:sns:r:a:topic", "function:a"] {
            check(other, None);
        }
    }
}
