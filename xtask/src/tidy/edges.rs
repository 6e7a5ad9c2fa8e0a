//! Dependencies between crates point one way.

use serde_json::Value;

use super::{Finding, Tree};

/// Each crate and the crates of this workspace it may use.
const ALLOWED: &str = "
expr:
history:
retry:
schedule:
shapes:
signature:
source:
sqs:
store:
target:
test-postgres:
api: signature
asl: expr retry source
client: signature
shards: store
invocations: retry shards store target
triggers: invocations schedule shards target
queues: shards store
store-embedded: store
store-postgres: store
config: asl retry schedule source target
graph: asl source
interpreter: asl expr history shapes
analysis: asl config graph retry schedule source
executions: asl history interpreter shards store
story: asl expr interpreter retry source
console: asl expr graph source story
crash: asl executions history interpreter store store-embedded store-postgres
drivers: asl executions history interpreter
local: analysis asl drivers executions interpreter source story
runners: asl client executions interpreter retry
simulation: asl drivers executions history interpreter invocations retry shards store
server: api asl client config console drivers executions expr graph history interpreter invocations queues retry runners shards signature source sqs store store-embedded store-postgres story target triggers
cli: analysis asl client config executions expr graph interpreter local retry runners server source story
xtask: api asl executions expr interpreter server shards simulation store
";

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in tree.packages() {
        let name = short(package["name"].as_str().unwrap_or_default());
        let Some((_, allowed)) = allowed().find(|(known, _)| *known == name) else {
            findings
                .push(Finding::new(name, "a new crate needs its line in xtask/src/tidy/edges.rs"));
            continue;
        };
        for used in used(package).filter(|used| !allowed.contains(used)) {
            let what = format!("must not use {used}: dependencies point one way");
            findings.push(Finding::new(name, what));
        }
        for unused in allowed.iter().filter(|allowed| !used(package).any(|used| used == **allowed))
        {
            let what = format!("does not use {unused}: remove it from xtask/src/tidy/edges.rs");
            findings.push(Finding::new(name, what));
        }
    }
    let exists = |name: &str| {
        tree.packages().any(|package| package["name"].as_str().map(short) == Some(name))
    };
    for (gone, _) in allowed().filter(|(name, _)| !exists(name)) {
        findings.push(Finding::new(gone, "does not exist: remove it from xtask/src/tidy/edges.rs"));
    }
    findings
}

fn allowed() -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let lines = ALLOWED.lines().filter_map(|line| line.split_once(':'));
    lines.map(|(name, used)| (name, used.split_whitespace().collect()))
}

/// `asl` of `everstep-asl`.
pub(super) fn short(package: &str) -> &str {
    package.strip_prefix("everstep-").unwrap_or(package)
}

/// The crates of this workspace that a package uses, tests aside; sorted.
pub(super) fn used(package: &Value) -> impl Iterator<Item = &str> {
    let mut used: Vec<&str> = package["dependencies"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev")
        .filter_map(|dependency| dependency["name"].as_str().map(short))
        .collect();
    used.sort_unstable();
    used.dedup();
    used.into_iter()
}

/// How many crates lie below a package, on the longest way down.
pub(super) fn depth(tree: &Tree, package: &Value) -> usize {
    let below = used(package).filter_map(|name| {
        let mut found = tree.packages();
        let found = found.find(|package| package["name"].as_str().map(short) == Some(name));
        found.map(|used| depth(tree, used) + 1)
    });
    below.max().unwrap_or(0)
}
