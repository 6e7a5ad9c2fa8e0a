//! Whatever the text: no panic, no overflow, no endless work.

use std::io;
use std::path::Path;

use everstep_config::{Parsed, read};
use proptest::prelude::*;

fn parse(text: &str) -> Parsed {
    let mut load = |path: &Path| match path.to_str() {
        Some("everstep.yaml") => Ok(text.to_owned()),
        _ => Err(io::Error::from(io::ErrorKind::NotFound)),
    };
    read(Path::new("everstep.yaml"), &mut load, &|_| None, &Default::default())
}

fn check_refused(text: &str, message: &str) {
    let parsed = parse(text);
    assert!(parsed.config().is_none());
    let first = &parsed.diagnostics[0].message;
    assert!(first.contains(message), "{first}");
}

#[test]
fn bombs_do_not_go_off() {
    let mut aliases = "functions: &a0 {x: {runtime: command}}\n".to_owned();
    for level in 1..9 {
        let list = vec![format!("*a{}", level - 1); 10].join(",");
        aliases += &format!("a{level}: &a{level} [{list}]\n");
    }
    check_refused(&aliases, "too many values");
    check_refused(&"[".repeat(100_000), "");
    check_refused(
        &format!("functions: {}{}", "{a: ".repeat(5000), "}".repeat(5000)),
        "nested deeper",
    );
    check_refused(&"x".repeat(2 << 20), "larger than 1 MiB");
    check_refused("a: *a", "");
}

#[test]
fn a_file_that_includes_itself_is_read_once() {
    let parsed = parse("include: everstep.yaml\n");
    assert!(parsed.diagnostics[0].message.contains("already"), "{parsed:?}");
    assert_eq!(parsed.sources.len(), 1);
}

/// Each include names two more: the files are counted.
#[test]
fn a_tree_of_files_ends() {
    let mut loads = 0;
    let mut load = |path: &Path| {
        loads += 1;
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        Ok(format!("include: [{stem}0.yaml, {stem}1.yaml]"))
    };
    let parsed = read(Path::new("e.yaml"), &mut load, &|_| None, &Default::default());
    assert!(parsed.config().is_none());
    assert_eq!(loads, 100);
}

#[test]
fn thousands_of_problems_are_counted() {
    let functions: String = (0..5000).map(|n| format!("  f{n}: {{runtim: x}}\n")).collect();
    let parsed = parse(&format!("functions:\n{functions}"));
    assert_eq!(parsed.diagnostics.len(), 1000);
    assert_eq!(parsed.omitted, 9000);
    assert!(parsed.config().is_none());
}

/// Pieces that mean something, in any order and depth.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "functions",
        "stateMachines",
        "defaults",
        "retry",
        "rules",
        "errors",
        "strategy",
        "exponential",
        "maxRetryCount",
        "-1",
        "base",
        "10s",
        "24:00:00",
        "runtime",
        "python3.11",
        "handler",
        "env",
        "${env:X}",
        "%X%",
        "next",
        "name",
        "onFailure",
        "function:a",
        "arn:aws:sqs:::q",
        "definition",
        "EventInvokeConfig",
        "MaximumRetryAttempts",
        "3",
        "queues",
        "include",
        "hostJson",
        "x.json",
        "null",
        "~",
        "[]",
        "{}",
        "\"",
        "&a",
        "*a",
        "ü",
        "1e999",
        "'",
        "|",
        "destinations",
        "command",
    ];
    prop::sample::select(words.map(str::to_owned).to_vec())
}

proptest! {
    #[test]
    fn random_texts_are_read_or_refused(
        pieces in prop::collection::vec((piece(), prop::sample::select(vec![": ", "\n", "\n  ", "\n    ", ", ", "[", "]", "{", "}", " ", "- "])), 0..60)
    ) {
        let text: String = pieces.into_iter().map(|(word, gap)| word + gap).collect();
        let parsed = parse(&text);
        prop_assert_eq!(parsed.config().is_none(), parsed.diagnostics.iter().any(|found| found.is_error()));
    }

    /// Like the above, but always of the right shape outside, so that it gets far inside.
    #[test]
    fn random_functions_are_read_or_refused(
        keys in prop::collection::vec((piece(), piece(), piece(), piece()), 1..12)
    ) {
        let mut text = "functions:\n  a:\n".to_owned();
        for (key, inner, value, more) in keys {
            text += &format!("    {key}: {{{inner}: {value}, {more}: [{value}]}}\n    {inner}: {value}\n");
        }
        let parsed = parse(&text);
        prop_assert_eq!(parsed.config().is_none(), parsed.diagnostics.iter().any(|found| found.is_error()));
    }
}
