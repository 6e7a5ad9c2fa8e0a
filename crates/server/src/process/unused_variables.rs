//! Environment variables of AWS Step Functions Local that have no effect here.

use super::frontend::Frontend;

/// Endpoints of services that no task here can call.
const UNUSED: [&str; 12] = [
    "ATHENA_ENDPOINT",
    "BATCH_ENDPOINT",
    "DYNAMODB_ENDPOINT",
    "ECS_ENDPOINT",
    "EKS_ENDPOINT",
    "EMR_ENDPOINT",
    "EVENTS_ENDPOINT",
    "GLUE_ENDPOINT",
    "SAGE_MAKER_ENDPOINT",
    "SNS_ENDPOINT",
    "SQS_ENDPOINT",
    "STEP_FUNCTIONS_ENDPOINT",
];

/// Warns of those that are set.
pub(super) fn warn(frontend: &dyn Frontend) {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some(line) = unused(is_set) {
        frontend.write(&line);
    }
}

fn unused(is_set: impl Fn(&str) -> bool) -> Option<String> {
    let set: Vec<&str> = UNUSED.into_iter().filter(|name| is_set(name)).collect();
    (!set.is_empty()).then(|| {
        format!("warning: these environment variables have no effect: {}\n", set.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_are_not_used() {
        assert_eq!(unused(|_| false), None);
        let set = |name: &str| ["SQS_ENDPOINT", "SNS_ENDPOINT", "HOME"].contains(&name);
        let expected =
            "warning: these environment variables have no effect: SNS_ENDPOINT, SQS_ENDPOINT\n";
        assert_eq!(unused(set).as_deref(), Some(expected));
    }
}
