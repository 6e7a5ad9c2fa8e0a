//! Licences of all dependencies, against the list in deny.toml.

use std::path::Path;

use super::{Finding, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let allowed = allowed(&tree.read(Path::new("deny.toml")));
    if allowed.is_empty() {
        return vec![Finding::new("deny.toml", "has no list `allow` under [licenses]")];
    }
    let mut findings = Vec::new();
    for package in tree.metadata["packages"].as_array().into_iter().flatten() {
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or("none"));
        if !holds(licence, &allowed) {
            let place = format!("{} {}", name.as_str().unwrap_or("?"), package["version"]);
            findings.push(Finding::new(place, format!("the licence `{licence}` is not allowed")));
        }
    }
    findings
}

fn allowed(deny: &str) -> Vec<String> {
    let list = deny.split("[licenses]").nth(1).and_then(|rest| rest.split("allow = [").nth(1));
    let list = list.and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// An SPDX expression holds if one side of an OR, or all sides of an AND, are allowed.
fn holds(expression: &str, allowed: &[String]) -> bool {
    let expression = expression.trim();
    let inner = expression.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if let Some(inner) = inner.filter(|inner| !inner.contains('(')) {
        return holds(inner, allowed);
    }
    if let Some(parts) = split(expression, " AND ") {
        return parts.iter().all(|part| holds(part, allowed));
    }
    // Older manifests write a slash for OR.
    if let Some(parts) = split(expression, " OR ").or_else(|| split(expression, "/")) {
        return parts.iter().any(|part| holds(part, allowed));
    }
    allowed.iter().any(|known| known == expression)
}

/// The parts around an operator that stands outside parentheses.
fn split<'e>(expression: &'e str, operator: &str) -> Option<Vec<&'e str>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in expression.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= start && expression[at..].starts_with(operator) => {
                parts.push(&expression[start..at]);
                start = at + operator.len();
            }
            _ => {}
        }
    }
    if parts.is_empty() {
        return None;
    }
    parts.push(&expression[start..]);
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_read() {
        let allowed = ["MIT".to_owned(), "ISC".to_owned()];
        for good in
            ["MIT", "MIT OR GPL-3.0", "GPL-3.0 OR MIT", "(MIT OR GPL-3.0) AND ISC", "Apache/MIT"]
        {
            assert!(holds(good, &allowed), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(GPL-2.0 OR GPL-3.0) AND MIT", "none"] {
            assert!(!holds(bad, &allowed), "{bad}");
        }
    }
}
