//! Every command with every format: exit code, standard output and standard error together.
//!
//! Each case is a file of `testdata/cli`; `UPDATE_EXPECT=1` rewrites them, and the diff is
//! reviewed like code.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

mod support;

use std::fs;
use std::process::Command;

use support::{check, check_input, root, run};

const DEFINITIONS: &str = "testdata/cli/definitions";

#[test]
fn help() {
    check("help", "--help");
    check("help-validate", "validate --help");
    check("help-check", "check --help");
    check("help-explain", "explain --help");
    check("help-graph", "graph --help");
    check("help-rules", "rules --help");
    check("help-run", "run --help");
    check("help-machines", "machines --help");
    check("help-machines-create", "machines create --help");
    check("help-executions", "executions --help");
    check("help-executions-start", "executions start --help");
    check("help-activities", "activities --help");
    check("help-functions", "functions --help");
    check("help-invoke", "invoke --help");
    check("help-invocations", "invocations --help");
    check("help-invocations-list", "invocations list --help");
    check("help-deadletters", "deadletters --help");
    check("help-deadletters-redrive", "deadletters redrive --help");
    check("help-deadletters-purge", "deadletters purge --help");
    check("version", "--version");
    check("no-command", "");
}

#[test]
fn validate_as_text() {
    check("validate-good", &format!("validate {DEFINITIONS}/good.asl.json"));
    check(
        "validate-several",
        &format!(
            "validate {DEFINITIONS}/good.asl.yaml {DEFINITIONS}/broken.asl.json \
             {DEFINITIONS}/advice.asl.json"
        ),
    );
    check("validate-quiet", &format!("validate --quiet {DEFINITIONS}/good.asl.json"));
    check("validate-warning", &format!("validate {DEFINITIONS}/advice.asl.json"));
    check("validate-strict", &format!("validate --strict {DEFINITIONS}/advice.asl.json"));
    check("validate-one-line", &format!("validate {DEFINITIONS}/oneline.asl.json"));
    check("validate-odd-characters", &format!("validate {DEFINITIONS}/odd.asl.json"));
    check("validate-order", "validate examples/order/order.asl.json");
}

#[test]
fn validate_for_programs() {
    let broken = format!("{DEFINITIONS}/broken.asl.json");
    check("validate-json", &format!("validate --format json {broken}"));
    check("validate-aws", &format!("validate --format aws {broken}"));
    check("validate-aws-good", &format!("validate --format aws {DEFINITIONS}/advice.asl.json"));
    check("validate-aws-two", &format!("validate --format aws {broken} {broken}"));
}

/// The rules' pages would drown the rest: only what is of this run is pinned.
#[test]
fn validate_as_sarif() {
    let arguments = format!("validate --format sarif {DEFINITIONS}/broken.asl.json");
    let output = run(&arguments, "");
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
    let log: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    for result in run["results"].as_array().unwrap() {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let file = root().join("testdata/cli/validate-sarif-results.json");
    let seen = format!("{:#}\n", run["results"]);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &seen).unwrap();
    }
    assert_eq!(fs::read_to_string(file).unwrap(), seen);
}

#[test]
fn validate_settings() {
    let advice = format!("{DEFINITIONS}/advice.asl.json");
    check("validate-allow", &format!("validate --allow task-without-timeout {advice}"));
    check("validate-deny", &format!("validate --deny task-without-timeout {advice}"));
    check("validate-allow-unknown", &format!("validate --allow task-without-timeot {advice}"));
    check("validate-allow-error", &format!("validate --allow unknown-field {advice}"));
    check("validate-express", &format!("validate --type express {DEFINITIONS}/nested.asl.json"));
}

#[test]
fn validate_standard_input() {
    let good = r#"{"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}"#;
    check_input("validate-stdin", "validate -", good);
    check_input("validate-stdin-yaml", "validate -", "StartAt: A\nStates:\n  A: {Type: Sucked}\n");
    check_input("validate-stdin-empty", "validate -", "");
    check_input("validate-stdin-not-json", "validate -", "{\"StartAt\": }");
}

#[test]
fn validate_unreadable() {
    check("validate-missing", &format!("validate nothing.json {DEFINITIONS}/good.asl.json"));
    check("validate-directory", &format!("validate {DEFINITIONS}"));
    check("validate-not-utf8", &format!("validate {DEFINITIONS}/latin1.asl.json"));
    check("validate-nothing", "validate");
}

#[test]
fn explain_machines() {
    check("explain-order", "explain examples/order/order.asl.json");
    check("explain-nested", &format!("explain {DEFINITIONS}/nested.asl.json"));
    check("explain-jsonata-json", &format!("explain {DEFINITIONS}/jsonata.asl.json --json"));
    check("explain-broken", &format!("explain {DEFINITIONS}/broken.asl.json"));
}

#[test]
fn explain_states() {
    let order = "explain examples/order/order.asl.json";
    check("explain-reserve", &format!("{order} ReserveInventory"));
    let both = format!("explain {DEFINITIONS}/nested.asl.json Both");
    check("explain-both-aws", &format!("{both} --dialect aws"));
    check("explain-charge", &format!("{order} ChargeCustomer"));
    check("explain-refund", &format!("{order} RefundCustomer"));
    check("explain-failed", &format!("{order} OrderFailed"));
    check("explain-unknown-state", &format!("{order} ChargeCustmer"));
    check("explain-charge-json", &format!("{order} ChargeCustomer --json"));
    let nested = format!("explain {DEFINITIONS}/nested.asl.json");
    check("explain-send", &format!("{nested} Send"));
    check("explain-both", &format!("{nested} Both"));
    check("explain-choice", &format!("{nested} Paid?"));
    check("explain-jsonata", &format!("explain {DEFINITIONS}/jsonata.asl.json Pay"));
}

#[test]
fn graph() {
    let order = "graph examples/order/order.asl.json";
    check("graph-mermaid", &format!("{order} --format mermaid"));
    check("graph-dot", &format!("{order} --format dot"));
    check("graph-svg", &format!("graph {DEFINITIONS}/good.asl.json"));
    check("graph-nested", &format!("graph {DEFINITIONS}/nested.asl.json --format mermaid"));
    check("graph-broken", &format!("graph {DEFINITIONS}/broken.asl.json"));
    check("graph-unwritable", &format!("{order} -o /nowhere/order.svg"));
}

/// What the pages show is what the commands write: the last command of each example, run beside the
/// file that it names, or beside the configuration if it names none.
#[test]
fn the_documentation_shows_real_output() {
    check_page("docs/cli.md");
    check_page("docs/configuration.md");
}

fn check_page(page: &str) {
    let file = root().join(page);
    let text = fs::read_to_string(&file).unwrap();
    let mut seen = String::new();
    for (at, part) in text.split("```").enumerate() {
        let fence = if at > 0 { "```" } else { "" };
        let example = part.strip_prefix("console\n").map(shown).unwrap_or(part.to_owned());
        seen += &format!("{fence}{example}");
    }
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, &seen).unwrap();
    }
    assert!(text == seen || std::env::var_os("UPDATE_EXPECT").is_some(), "now it is:\n{seen}");
}

fn shown(example: &str) -> String {
    let commands: Vec<&str> = example.lines().filter(|line| line.starts_with("$ ")).collect();
    let arguments = commands.last().unwrap().strip_prefix("$ everstep ").unwrap();
    let places = [DEFINITIONS, "examples/order"].map(|place| root().join(place));
    let place = match arguments.split(' ').find(|word| word.ends_with(".json")) {
        Some(file) => places.iter().find(|place| place.join(file).exists()).unwrap().clone(),
        None => root().join("examples/functions"),
    };
    let output = Command::new(env!("CARGO_BIN_EXE_everstep"))
        .args(arguments.split(' '))
        .current_dir(place)
        .output()
        .unwrap();
    let (data, story) = (output.stdout, output.stderr);
    let written = String::from_utf8([data, story].concat()).unwrap();
    format!("console\n{}\n{written}", commands.join("\n"))
}

#[test]
fn rules() {
    check("rules", "rules");
    check("rules-unknown", "rules catch-discards-inputs");
    let output = run("rules catch-discards-input", "");
    let page = fs::read(root().join("docs/rules/catch-discards-input.md")).unwrap();
    assert_eq!((output.status.code(), output.stdout), (Some(0), page));
}

const CONFIGURATIONS: &str = "testdata/cli/config";

#[test]
fn check_as_text() {
    check("check-good", "check examples/functions");
    check("check-quiet", "check --quiet examples/functions/everstep.yaml");
    check("check-broken", &format!("check {CONFIGURATIONS}/broken"));
    check("check-inline", &format!("check {CONFIGURATIONS}/inline"));
    check("check-warned", &format!("check {CONFIGURATIONS}/warned"));
    check("check-strict", &format!("check --strict --quiet {CONFIGURATIONS}/warned"));
    check("check-code", &format!("check {CONFIGURATIONS}/code"));
    check("check-saga", &format!("check {CONFIGURATIONS}/saga"));
    check("check-missing", "check nowhere");
    check("check-folder-without", &format!("check {DEFINITIONS}"));
    check("check-here-without", "check");
}

#[test]
fn check_for_programs() {
    check("check-json", &format!("check --format json {CONFIGURATIONS}/inline"));
}

#[test]
fn explain_functions() {
    let example = "--config examples/functions";
    check("explain-function", &format!("explain charge {example}"));
    check("explain-function-sam", &format!("explain receipt {example}/everstep.yaml"));
    check("explain-function-defaults", &format!("explain refund {example}"));
    check("explain-function-unknown", &format!("explain chrage {example}"));
    check("explain-function-machine", &format!("explain checkout {example}"));
    check("explain-function-broken", &format!("explain charge --config {CONFIGURATIONS}/broken"));
    let warned = format!("--config {CONFIGURATIONS}/warned");
    check("explain-function-aged", &format!("explain receipt {warned}"));
    check("explain-function-endless", &format!("explain endless {warned}"));
    check("explain-function-endless-json", &format!("explain endless --json {warned}"));
    check("explain-function-never", &format!("explain never {warned}"));
    check("explain-function-no-file", "explain charge");
}

/// In the folder of the configuration a function needs no more than its name.
#[test]
fn a_function_is_found_by_its_name() {
    let explain = |arguments: &[&str], folder: &str| {
        Command::new(env!("CARGO_BIN_EXE_everstep"))
            .arg("explain")
            .args(arguments)
            .current_dir(root().join(folder))
            .output()
            .unwrap()
    };
    let named = explain(&["charge", "--config", "everstep.yaml"], "examples/functions");
    let found = explain(&["charge"], "examples/functions");
    assert!(found.status.success());
    assert_eq!(found.stdout, named.stdout);
    let folder = explain(&["shop"], &format!("{CONFIGURATIONS}/code"));
    assert!(folder.status.success(), "a folder of its name does not hide it: {folder:?}");
    let definition = explain(&["checkout.asl.yaml"], "examples/functions");
    assert!(definition.status.success() && definition.stdout != found.stdout);
}
