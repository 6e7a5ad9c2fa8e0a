//! Problems for programs. The form is described in `docs/cli.md` and only ever grows.

use everstep_source::{Diagnostic, Source};
use serde_json::{Value, json};

use super::Checked;

pub(crate) fn report(checked: &[Checked]) -> String {
    let files: Vec<Value> = checked.iter().map(file).collect();
    pretty(&json!({
        "errors": checked.iter().map(Checked::errors).sum::<usize>(),
        "warnings": checked.iter().map(Checked::warnings).sum::<usize>(),
        "files": files,
    }))
}

fn file(checked: &Checked) -> Value {
    let diagnostics: Vec<Value> =
        checked.diagnostics.iter().map(|found| diagnostic(&checked.source, found)).collect();
    json!({"file": checked.source.name(), "diagnostics": diagnostics, "omitted": checked.omitted})
}

fn diagnostic(source: &Source, found: &Diagnostic) -> Value {
    let (start, end) = (source.position(found.span.start), source.position(found.span.end));
    json!({
        "rule": found.code,
        "severity": found.severity.name(),
        "line": start.line,
        "column": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        "pointer": found.place.pointer,
        "message": found.message,
        "hint": found.hint,
        "replacement": found.replacement,
    })
}

pub(crate) fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}
