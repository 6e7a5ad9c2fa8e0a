//! A difference between the dialects is a method of `Dialect`: no other code asks which of them it is.

use std::path::Path;

use super::{Finding, Tree};

const TABLE: &str = "crates/asl/src/dialect.rs";

/// Where the dialect is stored as a flag, which decides nothing.
const STORED: &[&str] = &["crates/executions/src/revision.rs", "crates/server/src/tag_settings.rs"];

const NAMES: &[&str] = &["Dialect::Spec", "Dialect::Aws"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.with_ending("rs").filter(|file| is_code(file)).flat_map(|file| of(tree, file)).collect()
}

/// Tests choose a dialect; that is not asking for it.
fn is_code(file: &Path) -> bool {
    let known = [TABLE].iter().chain(STORED).any(|known| file == Path::new(known));
    let is_source =
        file.starts_with("crates") && file.iter().nth(2).is_some_and(|part| part == "src");
    is_source && !known && !file.ends_with("tests.rs")
}

fn of(tree: &Tree, file: &Path) -> Vec<Finding> {
    let text = tree.read(file);
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    (1..)
        .zip(code.lines())
        .filter(|(_, line)| NAMES.iter().any(|name| asks(line, name)))
        .map(|(number, _)| {
            let place = format!("{}:{number}", file.display());
            Finding::new(place, "tells the dialects apart: make it a method of `Dialect`")
        })
        .collect()
}

fn asks(line: &str, name: &str) -> bool {
    let Some((before, after)) = line.split_once(name) else { return false };
    let compared = ["==", "!=", "matches!("].iter().any(|operator| before.contains(operator));
    // The pattern of an arm, alone or with others.
    compared || after.contains("=>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions() {
        let check = |line: &str, expected| {
            assert_eq!(NAMES.iter().any(|name| asks(line, name)), expected, "{line}");
        };
        check("if dialect == Dialect::Aws {", true);
        check("if matches!(dialect, Dialect::Spec) {", true);
        check("Dialect::Aws => 1,", true);
        check("(Dialect::Spec, Kind::Map) => 1,", true);
        check("(Kind::Map, Dialect::Spec) => 1,", true);
        check("(None, Format::Aws) => Dialect::Aws,", false);
        check("let machine = load(file, Dialect::Aws)?;", false);
    }
}
