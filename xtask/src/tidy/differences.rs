//! The page of the dialects shows the table in code, which has a row for each method of `Dialect`.

use std::fmt::Write as _;
use std::path::Path;

use everstep_asl::{DIFFERENCES, Difference};

use super::{Finding, Tree, replaced};

const METHODS: &str = "crates/asl/src/dialect.rs";
const ROWS: &str = "crates/asl/src/differences.rs";
const PAGE: &str = "docs/dialects.md";
const BEGIN: &str = "<!-- differences: written by `cargo xtask tidy --write` from crates/asl/src/differences.rs -->\n";
const END: &str = "<!-- /differences -->";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let rows: Vec<&str> = DIFFERENCES.iter().map(|row| row.method).collect();
    let mut findings: Vec<Finding> = compared(&methods(&tree.read(Path::new(METHODS))), &rows);
    let page = tree.read(Path::new(PAGE));
    match replaced(&page, BEGIN, END, &table()) {
        None => findings.push(Finding::new(PAGE, format!("has no `{}`", BEGIN.trim_end()))),
        Some(expected) if expected != page => findings.push(Finding::new(
            PAGE,
            "its table of differences is out of date: run `cargo xtask tidy --write`",
        )),
        Some(_) => {}
    }
    findings
}

/// Brings the table up to date.
pub(super) fn write(tree: &Tree) -> anyhow::Result<()> {
    let page = tree.read(Path::new(PAGE));
    if let Some(page) = replaced(&page, BEGIN, END, &table()) {
        std::fs::write(tree.root.join(PAGE), page)?;
    }
    Ok(())
}

fn table() -> String {
    let mut table = "| in code | what | `spec` | `aws` |\n|---|---|---|---|\n".to_owned();
    for Difference { method, what, spec, aws } in DIFFERENCES {
        let _ = writeln!(table, "| `{method}` | {what} | {spec} | {aws} |");
    }
    table
}

/// The methods that are differences, in the order of the code.
fn methods(code: &str) -> Vec<&str> {
    let (_, rest) = code.split_once("/// Every method is a difference.").unwrap_or_default();
    let (block, _) = rest.split_once("\n}\n").unwrap_or_default();
    let lines = block.lines().filter_map(|line| line.trim().strip_prefix("pub fn "));
    lines.filter_map(|line| line.split('(').next()).collect()
}

fn compared(methods: &[&str], rows: &[&str]) -> Vec<Finding> {
    let missing = methods.iter().filter(|method| !rows.contains(method));
    let missing = missing.map(|method| Finding::new(ROWS, format!("needs a row for `{method}`")));
    let stale = rows.iter().filter(|row| !methods.contains(row));
    let stale =
        stale.map(|row| Finding::new(ROWS, format!("`{row}` is not a method of `Dialect`")));
    let mut findings: Vec<Finding> = missing.chain(stale).collect();
    if findings.is_empty() && methods != rows {
        findings.push(Finding::new(ROWS, "its rows are not in the order of the methods"));
    }
    if methods.is_empty() {
        findings.push(Finding::new(METHODS, "has no methods that are differences"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_and_rows_are_compared() {
        let code = "/// Every method is a difference.\nimpl D {\n    pub fn a(self) {}\n    pub fn b(self) {}\n}\n\nimpl D {\n    pub fn c() {}\n}\n";
        assert_eq!(methods(code), ["a", "b"]);
        let check = |rows: &[&str], expected: &[&str]| {
            let found = compared(&methods(code), rows);
            let found: Vec<&str> = found.iter().map(|finding| finding.message.as_str()).collect();
            assert_eq!(found, expected);
        };
        check(&["a", "b"], &[]);
        check(&["a"], &["needs a row for `b`"]);
        check(&["a", "b", "d"], &["`d` is not a method of `Dialect`"]);
        check(&["b", "a"], &["its rows are not in the order of the methods"]);
    }
}
