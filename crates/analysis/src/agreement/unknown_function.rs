//! Tasks that call a function which the configuration does not have.

use everstep_config::{Config, Rule};
use everstep_source::{Diagnostic, nearest};

use super::Definition;
use super::called::Called;

pub(super) fn check(config: &Config, definition: Definition<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    definition.machine.each_state(&mut |state, _, place| {
        let Called::Function(name, at) = definition.called(state, place) else { return };
        if config.function(&name).is_some() {
            return;
        }
        let span = definition.root.at(&at.pointer).map_or(state.name_span, |found| found.node.span);
        let names = config.functions.iter().map(|function| function.name.as_str());
        let hint = match nearest(&name, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!(
                "add `{name}` to `functions:`, or set LAMBDA_ENDPOINT=URL to invoke it elsewhere"
            ),
        };
        let message =
            format!("`{}` calls the function `{name}`, which is not configured", state.name);
        found.push(Diagnostic::new(Rule::UnknownFunction, span, at, message).hint(hint));
    });
    found
}

#[cfg(test)]
mod tests {
    use super::super::said;

    fn check(resource: &str, expected: &[&str]) {
        let states =
            format!(r#""A": {{"Type": "Task", "TimeoutSeconds": 9, "End": true, {resource}}}"#);
        assert_eq!(
            said("{ f: { runtime: command, command: [f] } }", &states),
            expected,
            "{resource}"
        );
    }

    #[test]
    fn functions_by_arn() {
        check(r#""Resource": "arn:aws:lambda:us-east-1:123456789012:function:f""#, &[]);
        check(r#""Resource": "arn:aws:lambda:us-east-1:123456789012:function:f:live""#, &[]);
        let arn = "arn:aws:lambda:us-east-1:123456789012:function:g:7";
        check(
            &format!(r#""Resource": "{arn}""#),
            &[&format!("\"{arn}\": `A` calls the function `g`, which is not configured")],
        );
        check(r#""Resource": "${Function}""#, &[]);
        check(r#""Resource": "arn:aws:states:us-east-1:123456789012:activity:g""#, &[]);
    }

    #[test]
    fn functions_by_name() {
        let invoke = |fields: &str, expected: &[&str]| {
            check(&format!(r#""Resource": "arn:aws:states:::lambda:invoke", {fields}"#), expected);
        };
        let said =
            |name: &str| format!("\"{name}\": `A` calls the function `g`, which is not configured");
        for name in
            ["g", "g:live", "123456789012:function:g", "arn:aws:lambda:us-east-1:1:function:g"]
        {
            invoke(&format!(r#""Parameters": {{"FunctionName": "{name}"}}"#), &[&said(name)]);
        }
        invoke(r#""Parameters": {"FunctionName": "f:live"}"#, &[]);
        invoke(r#""Parameters": {"FunctionName.$": "$.name"}"#, &[]);
        invoke(r#""Parameters": {"FunctionName": "${Function}"}"#, &[]);
        let jsonata = r#""QueryLanguage": "JSONata", "Arguments": "#;
        invoke(&format!(r#"{jsonata}{{"FunctionName": "g"}}"#), &[&said("g")]);
        invoke(&format!(r#"{jsonata}{{"FunctionName": "{{% $name %}}"}}"#), &[]);
        invoke(&format!(r#"{jsonata}"{{% $states.input %}}""#), &[]);
    }
}
