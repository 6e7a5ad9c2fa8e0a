//! Modules say what they are for; nothing is left half done.

use super::{Finding, Tree};

/// Split so that this file does not find itself.
const LEFTOVERS: &[&str] =
    &[concat!("to", "do!("), concat!("db", "g!("), concat!("FIX", "ME"), concat!("XX", "X:")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_ending("rs") {
        let text = tree.read(file);
        let place = file.display().to_string();
        let opens = text.lines().find(|line| !line.trim().is_empty() && !line.starts_with("#!["));
        if !opens.is_some_and(|line| line.starts_with("//!")) {
            findings.push(Finding::new(
                &*place,
                "open the module with //!: what it is for, what it must not know",
            ));
        }
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(leftover) = LEFTOVERS.iter().find(|leftover| line.contains(**leftover)) {
                findings.push(Finding::new(
                    format!("{place}:{number}"),
                    format!("finish or remove `{leftover}`"),
                ));
            }
        }
    }
    findings
}
