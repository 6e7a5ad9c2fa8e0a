//! Paths next to Jayway's answers.

use std::path::Path as File;
use std::process::ExitCode;

use anyhow::Context;
use everstep_expr::path::Path;
use everstep_expr::{Entropy, NoVariables, Scope, SyntaxErrorKind, Value};
use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
struct Suite {
    document: Value,
    cases: Vec<Case>,
}

/// One path, and what Jayway says: it does not compile, it finds a value, or it fails.
#[derive(Deserialize)]
struct Case {
    path: String,
    #[serde(default)]
    invalid: bool,
    definite: Option<bool>,
    // A result may be null, and then it still is one.
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
}

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

enum Verdict {
    Passed,
    Failed { expected: String, got: String },
    Skipped { reason: String },
}

pub(crate) fn run(file: &File) -> anyhow::Result<ExitCode> {
    let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let suite: Suite = serde_json::from_slice(&text)
        .with_context(|| format!("{} is not a suite of paths", file.display()))?;
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for case in &suite.cases {
        match judge(case, &suite.document) {
            Verdict::Passed => passed += 1,
            Verdict::Failed { expected, got } => {
                failed += 1;
                println!("failed   {}\n  expected {expected}\n  got      {got}", case.path);
            }
            Verdict::Skipped { reason } => {
                skipped += 1;
                println!("skipped  {}\n  {reason}", case.path);
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn judge(case: &Case, document: &Value) -> Verdict {
    if let Some(reason) = other_root(&case.path) {
        return Verdict::Skipped { reason: reason.to_owned() };
    }
    let path = match Path::parse(&case.path) {
        Ok(path) => path,
        Err(_) if case.invalid => return Verdict::Passed,
        Err(error) if error.kind == SyntaxErrorKind::Unsupported => {
            return Verdict::Skipped { reason: format!("unsupported: {error}") };
        }
        Err(error) => return fail(case, format!("invalid: {error}")),
    };
    if case.definite.is_some_and(|definite| definite != path.is_definite()) {
        return fail(case, format!("definite: {}", path.is_definite()));
    }
    let entropy = Entropy::new(0, 0);
    let found = path.evaluate(&Scope {
        input: document,
        context: &Value::Null,
        variables: &NoVariables,
        entropy: &entropy,
        prints_structures: true,
    });
    match (found, &case.result) {
        (Err(_), None) if !case.invalid => Verdict::Passed,
        (Ok(got), Some(expected)) if same(&got, expected, &case.path) => Verdict::Passed,
        (Ok(got), _) => fail(case, got.to_string()),
        (Err(error), _) => fail(case, error.to_string()),
    }
}

fn fail(case: &Case, got: String) -> Verdict {
    let expected = match &case.result {
        _ if case.invalid => "invalid".to_owned(),
        Some(result) => format!("definite: {:?}, {result}", case.definite),
        None => format!("definite: {:?}, no value", case.definite),
    };
    Verdict::Failed { expected, got }
}

/// The States Language gives these beginnings another meaning than Jayway does.
fn other_root(path: &str) -> Option<&'static str> {
    let Some(rest) = path.strip_prefix('$') else {
        // Jayway puts `$.` before it, which is invalid again if a blank comes first.
        let refused = "a path begins with `$` in the States Language";
        return (!path.starts_with(' ')).then_some(refused);
    };
    match rest.chars().next()? {
        '$' => Some("`$$` is the context object in the States Language"),
        first if first.is_alphanumeric() || first == '_' => {
            Some("`$name` is a variable in the States Language")
        }
        _ => None,
    }
}

fn same(got: &Value, expected: &Value, path: &str) -> bool {
    match (got, expected) {
        // Scans are compared without order.
        (Value::Array(got), Value::Array(expected)) if path.contains("..") => {
            sorted(got) == sorted(expected)
        }
        // The recording wrote Java's set of keys as Java prints it.
        (Value::Array(keys), Value::String(printed)) if path.ends_with(".keys()") => {
            let keys: Vec<_> = keys.iter().filter_map(Value::as_str).collect();
            *printed == format!("[{}]", keys.join(", "))
        }
        _ => got == expected,
    }
}

fn sorted(values: &[Value]) -> Vec<String> {
    let mut texts: Vec<_> = values.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}
