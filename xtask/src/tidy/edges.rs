//! Dependencies between crates point one way.

use super::{Finding, Tree};

/// Each crate and the crates of this workspace it may use.
const ALLOWED: &[(&str, &[&str])] = &[
    ("everstep-retry", &[]),
    ("everstep-source", &[]),
    ("everstep-shards", &[]),
    ("everstep-expr", &[]),
    ("everstep-asl", &["everstep-expr", "everstep-retry", "everstep-source"]),
    ("everstep-config", &["everstep-asl", "everstep-retry", "everstep-source"]),
    ("everstep-invocations", &["everstep-shards", "everstep-retry", "everstep-store"]),
    (
        "everstep-runners",
        &[
            "everstep-asl",
            "everstep-client",
            "everstep-interpreter",
            "everstep-retry",
            "everstep-executions",
        ],
    ),
    ("everstep-client", &["everstep-signature"]),
    ("everstep-history", &[]),
    ("everstep-shapes", &[]),
    ("everstep-signature", &[]),
    ("everstep-store", &[]),
    ("everstep-store-embedded", &["everstep-store"]),
    (
        "everstep-executions",
        &[
            "everstep-asl",
            "everstep-expr",
            "everstep-history",
            "everstep-interpreter",
            "everstep-shards",
            "everstep-store",
        ],
    ),
    (
        "everstep-drivers",
        &["everstep-asl", "everstep-history", "everstep-interpreter", "everstep-executions"],
    ),
    (
        "everstep-simulation",
        &[
            "everstep-asl",
            "everstep-expr",
            "everstep-history",
            "everstep-interpreter",
            "everstep-executions",
            "everstep-store",
            "everstep-store-embedded",
        ],
    ),
    ("everstep-api", &["everstep-signature"]),
    (
        "everstep-server",
        &[
            "everstep-api",
            "everstep-asl",
            "everstep-client",
            "everstep-config",
            "everstep-executions",
            "everstep-expr",
            "everstep-history",
            "everstep-interpreter",
            "everstep-invocations",
            "everstep-retry",
            "everstep-runners",
            "everstep-signature",
            "everstep-store",
            "everstep-store-embedded",
        ],
    ),
    (
        "everstep-crash",
        &[
            "everstep-asl",
            "everstep-history",
            "everstep-interpreter",
            "everstep-executions",
            "everstep-store",
            "everstep-store-embedded",
        ],
    ),
    (
        "everstep-interpreter",
        &["everstep-asl", "everstep-expr", "everstep-history", "everstep-retry", "everstep-shapes"],
    ),
    ("everstep-graph", &["everstep-asl", "everstep-expr"]),
    (
        "everstep-analysis",
        &["everstep-asl", "everstep-config", "everstep-graph", "everstep-retry", "everstep-source"],
    ),
    (
        "everstep-story",
        &[
            "everstep-asl",
            "everstep-expr",
            "everstep-interpreter",
            "everstep-retry",
            "everstep-source",
        ],
    ),
    (
        "everstep-local",
        &[
            "everstep-analysis",
            "everstep-asl",
            "everstep-interpreter",
            "everstep-source",
            "everstep-story",
        ],
    ),
    (
        "everstep-cli",
        &[
            "everstep-analysis",
            "everstep-asl",
            "everstep-client",
            "everstep-config",
            "everstep-expr",
            "everstep-graph",
            "everstep-interpreter",
            "everstep-local",
            "everstep-retry",
            "everstep-runners",
            "everstep-executions",
            "everstep-server",
            "everstep-source",
            "everstep-story",
        ],
    ),
    (
        "xtask",
        &[
            "everstep-api",
            "everstep-asl",
            "everstep-expr",
            "everstep-graph",
            "everstep-history",
            "everstep-interpreter",
            "everstep-server",
            "everstep-simulation",
            "everstep-executions",
            "everstep-store",
        ],
    ),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in tree.metadata["packages"].as_array().into_iter().flatten() {
        if !package["source"].is_null() {
            continue;
        }
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, allowed)) = ALLOWED.iter().find(|(known, _)| *known == name) else {
            findings
                .push(Finding::new(name, "a new crate needs its line in xtask/src/tidy/edges.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let ours = dependency["path"].is_string() && dependency["kind"] != "dev";
            if ours && !allowed.contains(&used) {
                findings.push(Finding::new(
                    name,
                    format!("must not use {used}: dependencies point one way"),
                ));
            }
        }
    }
    findings
}
