//! The environment of a process: Lambda's variables, the function's own, and nothing of the engine's.

use std::path::Path;

use crate::function::{Function, Runtime};

/// Where the host pretends to be.
#[derive(Debug, Clone)]
pub(crate) struct Account {
    pub(crate) region: String,
    pub(crate) account: String,
}

impl Account {
    pub(crate) fn function_arn(&self, name: &str) -> String {
        format!("arn:aws:lambda:{}:{}:function:{name}", self.region, self.account)
    }
}

/// Interpreters are found where the engine would find them.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What all processes of a function get. What the function sets itself wins, but for the names that tie
/// the process to the engine.
pub(crate) fn of(function: &Function, account: &Account, instance: &str) -> Vec<(String, String)> {
    let path = std::env::var("PATH").unwrap_or_else(|_| PATH.to_owned());
    let mut env = vec![
        pair("PATH", path),
        pair("LANG", "C.UTF-8"),
        pair("TZ", ":UTC"),
        pair("AWS_REGION", &account.region),
        pair("AWS_DEFAULT_REGION", &account.region),
    ];
    for (name, value) in &function.env {
        env.retain(|(known, _)| known != name);
        env.push((name.clone(), value.clone()));
    }
    for (name, value) in reserved(function, instance) {
        env.retain(|(known, _)| *known != name);
        env.push((name, value));
    }
    env
}

fn reserved(function: &Function, instance: &str) -> Vec<(String, String)> {
    vec![
        pair("_HANDLER", handler(&function.runtime)),
        pair("AWS_LAMBDA_FUNCTION_NAME", &function.name),
        pair("AWS_LAMBDA_FUNCTION_VERSION", &function.version),
        pair("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", function.memory_mib.to_string()),
        pair("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{}", function.name)),
        pair("AWS_LAMBDA_LOG_STREAM_NAME", format!("[{}]{instance}", function.version)),
        pair("LAMBDA_TASK_ROOT", absolute(&function.code)),
    ]
}

fn handler(runtime: &Runtime) -> &str {
    match runtime {
        Runtime::Python { handler, .. }
        | Runtime::Node { handler, .. }
        | Runtime::Binary { handler, .. } => handler,
        Runtime::Command { .. } | Runtime::Http { .. } => "",
    }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

pub(crate) fn pair(name: &str, value: impl Into<String>) -> (String, String) {
    (name.to_owned(), value.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(own: &[(&str, &str)], name: &str, expected: Option<&str>) {
        let mut function = Function::python("f", "app.handler", "/code");
        function.env = own.iter().map(|(name, value)| pair(name, *value)).collect();
        let account = Account { region: "eu-north-1".to_owned(), account: "1".to_owned() };
        let env = of(&function, &account, "i");
        let found: Vec<_> = env.iter().filter(|(known, _)| known == name).collect();
        assert!(found.len() <= 1, "{found:?}");
        assert_eq!(found.first().map(|(_, value)| value.as_str()), expected);
    }

    #[test]
    fn the_functions_own_variables_win_unless_they_are_reserved() {
        check(&[], "AWS_REGION", Some("eu-north-1"));
        check(&[("AWS_REGION", "x")], "AWS_REGION", Some("x"));
        check(&[("_HANDLER", "x")], "_HANDLER", Some("app.handler"));
        check(&[("A", "1"), ("A", "2")], "A", Some("2"));
        check(&[], "AWS_LAMBDA_FUNCTION_MEMORY_SIZE", Some("128"));
        check(&[], "LAMBDA_TASK_ROOT", Some("/code"));
        check(&[], "AWS_ACCESS_KEY_ID", None);
        check(&[], "HOME", None);
    }
}
