//! The map of the house is that of the house.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Finding, Tree};

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let map = tree.read(Path::new("ARCHITECTURE.md"));
    let named: BTreeSet<&str> =
        map.split("`crates/").skip(1).filter_map(|rest| rest.split(['`', '/']).next()).collect();
    let real: BTreeSet<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.to_str()?.strip_prefix("crates/")?.split('/').next())
        .collect();
    let missing = real
        .difference(&named)
        .map(|name| Finding::new("ARCHITECTURE.md", format!("does not name `crates/{name}`")));
    let gone = named.difference(&real).map(|name| {
        Finding::new("ARCHITECTURE.md", format!("names `crates/{name}`, which does not exist"))
    });
    missing.chain(gone).collect()
}
