//! The innermost crates take values and return values.

use super::{Finding, Tree};

const PURE: &[&str] = &[
    "crates/expr/src",
    "crates/asl/src",
    "crates/history/src",
    "crates/interpreter/src",
    "crates/retry/src",
    "crates/config/src",
    "crates/drivers/src",
    "crates/schedule/src",
    "crates/triggers/src",
];

/// Words by which a clock, randomness, a thread or the outside would come in.
const IMPURE: &[&str] = &[
    "SystemTime",
    "Instant::now",
    "std::time",
    "std::thread",
    "std::fs",
    "std::net",
    "std::env::",
    "tokio",
    "thread_rng",
    "rand::rng(",
    "Timestamp::now",
    "Zoned::now",
    ".await;",
    ".await?",
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in
        tree.with_ending("rs").filter(|file| PURE.iter().any(|folder| file.starts_with(folder)))
    {
        let text = tree.read(file);
        // Unit tests may use what they like.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let only_for_tests = file.ends_with("tests.rs") || file.ends_with("hostile.rs");
        for (number, line) in (1..).zip(code.lines()).filter(|_| !only_for_tests) {
            let comment = line.trim_start().starts_with("//");
            if let Some(word) = IMPURE.iter().find(|word| !comment && line.contains(**word)) {
                let place = format!("{}:{number}", file.display());
                findings.push(Finding::new(
                    place,
                    format!("`{word}`: take the value as an argument instead"),
                ));
            }
        }
    }
    findings
}
