//! Links between documents.

use super::{Finding, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_ending("md") {
        let text = tree.read(file);
        let folder = file.parent().unwrap_or(file);
        for (number, line) in (1..).zip(text.lines()) {
            for target in targets(line) {
                let path = target.split('#').next().unwrap_or_default();
                let outside = target.contains("://") || target.starts_with("mailto:");
                if !outside && !path.is_empty() && !tree.root.join(folder).join(path).exists() {
                    let place = format!("{}:{number}", file.display());
                    findings.push(Finding::new(place, format!("`{target}` does not exist")));
                }
            }
        }
    }
    findings
}

/// What `[…](target)` leads to; code is not looked at.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let prose = line.split('`').step_by(2);
    prose.flat_map(|text| text.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next()))
}
