//! Problems as a SARIF 2.1.0 log, which code hosts and editors read.

use everstep_asl::{Diagnostic, Rule, Severity, Source, Span};
use serde_json::{Value, json};

use super::Checked;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(crate) fn log(checked: &[Checked]) -> String {
    let rules: Vec<Value> = Rule::ALL.iter().copied().map(rule).collect();
    let results: Vec<Value> = checked
        .iter()
        .flat_map(|file| file.diagnostics.iter().map(|found| result(&file.source, found)))
        .collect();
    super::json::pretty(&json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "everstep",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules,
            }},
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    }))
}

fn rule(rule: Rule) -> Value {
    json!({
        "id": rule.name(),
        "shortDescription": {"text": rule.summary()},
        "help": {"text": rule.page(), "markdown": rule.page()},
        "defaultConfiguration": {"level": rule.severity().name()},
    })
}

fn result(source: &Source, found: &Diagnostic) -> Value {
    let message = match &found.hint {
        Some(hint) => format!("{}; {hint}", found.message),
        None => found.message.clone(),
    };
    let artifact = json!({"uri": uri(source.name())});
    let mut result = json!({
        "ruleId": found.code,
        "ruleIndex": Rule::ALL.iter().position(|rule| rule.name() == found.code),
        "level": level(found.severity),
        "message": {"text": message},
        "locations": [{
            "physicalLocation": {
                "artifactLocation": artifact,
                "region": region(source, found.span),
            },
            "logicalLocations": [{"fullyQualifiedName": found.place.pointer}],
        }],
    });
    if let Some(replacement) = &found.replacement {
        result["fixes"] = json!([{
            "description": {"text": format!("write `{replacement}`")},
            "artifactChanges": [{
                "artifactLocation": artifact,
                "replacements": [{
                    "deletedRegion": region(source, found.span),
                    "insertedContent": {"text": as_written(source, found.span, replacement)},
                }],
            }],
        }]);
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn region(source: &Source, span: Span) -> Value {
    let (start, end) = (source.position(span.start), source.position(span.end));
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

/// The replacement of a quoted text is quoted too.
fn as_written(source: &Source, span: Span, replacement: &str) -> String {
    let old = source.text().get(span.range()).unwrap_or_default();
    if old.starts_with(['"', '\'']) {
        json!(replacement).to_string()
    } else {
        replacement.to_owned()
    }
}

/// A path as a relative or `file:` reference (RFC 3986).
fn uri(name: &str) -> String {
    let mut uri = String::new();
    if name.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in name.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
