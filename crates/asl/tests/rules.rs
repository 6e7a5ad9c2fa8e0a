//! Every rule has a page in `docs/rules`, and the examples on it are the rule's tests.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use everstep_asl::{DEFINITION_BYTES_MAX, Options, Rule, Source, WorkflowType, parse};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/rules")
}

#[test]
fn every_page_has_a_rule() {
    let pages = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let pages: BTreeSet<String> = pages
        .filter_map(|name| name.to_str().unwrap().strip_suffix(".md").map(str::to_owned))
        .filter(|name| name != "README")
        .collect();
    let rules: BTreeSet<String> = Rule::ALL.iter().map(|rule| rule.name().to_owned()).collect();
    assert_eq!(pages, rules);
}

#[test]
fn pages_have_their_form() {
    for rule in Rule::ALL {
        let start = format!("# {rule}\n\n**{}**\n\n", rule.severity().name());
        assert!(rule.page().starts_with(&start), "{rule} does not start with {start}");
        let sections: Vec<&str> =
            rule.page().lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let mut allowed = ["Breaks it", "Keeps it", "Evidence", "See also"].iter();
        let ordered = sections.iter().all(|section| allowed.any(|known| known == section));
        assert!(ordered && sections.len() >= 2, "{rule} has the sections {sections:?}");
        for (_, link) in rule.page().match_indices("](").map(|(at, _)| rule.page().split_at(at + 2))
        {
            let target = link.split(')').next().unwrap().trim_end_matches(".md");
            assert!(Rule::find(target).is_some(), "{rule} links to {target}");
        }
    }
}

#[test]
fn what_breaks_a_rule_breaks_no_other() {
    for rule in Rule::ALL {
        let found = check(*rule, "Breaks it");
        assert!(!found.is_empty(), "{rule} is not broken");
        assert!(found.iter().all(|line| line.contains(&format!("[{rule}]"))), "{rule}: {found:#?}");
    }
}

#[test]
fn what_keeps_a_rule_keeps_all() {
    for rule in Rule::ALL {
        let found = check(*rule, "Keeps it");
        assert!(found.is_empty(), "{rule}: {found:#?}");
    }
}

/// The diagnostics of the example in a section of the rule's page.
fn check(rule: Rule, section: &str) -> Vec<String> {
    let section =
        rule.page().split(&format!("## {section}\n")).nth(1).expect("the section is there");
    let section = section.split("\n## ").next().expect("a split has a first part");
    let mut blocks = section.split("```");
    let before = blocks.next().expect("a split has a first part");
    let block = blocks.next().unwrap_or_else(|| panic!("{rule} has no example"));
    assert_eq!(blocks.count(), 1, "{rule} has more than one example in a section");
    let (language, text) = block.split_once('\n').expect("a fence is a line");
    let text = enlarge(rule, text);
    let mut options = Options::default();
    if before.contains("workflow type: EXPRESS") {
        options.workflow_type = WorkflowType::Express;
    }
    let source = Source::new(format!("{rule}.{language}"), text);
    let found = parse(&source, &options).diagnostics;
    found
        .into_iter()
        .map(|d| format!("{}[{}] {}: {}", d.severity.name(), d.code, d.place, d.message))
        .collect()
}

/// One example is too large to print.
fn enlarge(rule: Rule, text: &str) -> String {
    if rule == Rule::DefinitionTooLarge {
        text.replace('…', &"x".repeat(DEFINITION_BYTES_MAX))
    } else {
        text.to_owned()
    }
}

const BEGIN: &str = "<!-- index: written by the tests -->\n";
const END: &str = "<!-- end of index -->\n";

#[test]
fn the_index_is_true() {
    check_obligations();
    check_index();
}

fn check_index() {
    let path = folder().join("README.md");
    let text = fs::read_to_string(&path).expect("the index is there");
    let (before, rest) = text.split_once(BEGIN).expect("the index begins");
    let (_, after) = rest.split_once(END).expect("the index ends");
    let expected = format!("{before}{BEGIN}{}{END}{after}", index());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, expected).expect("the index can be written");
    } else {
        assert!(text == expected, "docs/rules/README.md is stale: run with UPDATE_EXPECT=1");
    }
}

/// Grouped as in the registry.
fn index() -> String {
    let mut text = String::new();
    for (group, rules) in Rule::GROUPS {
        let _ = write!(text, "\n### {group}\n\n| rule | severity | summary |\n|---|---|---|\n");
        for rule in *rules {
            let (severity, summary) = (rule.severity().name(), rule.summary());
            let _ = writeln!(text, "| [{rule}]({rule}.md) | {severity} | {summary} |");
        }
    }
    text.push('\n');
    text
}

/// The second table of the index maps the specification to rules: each name in it is one.
fn check_obligations() {
    let text = fs::read_to_string(folder().join("README.md")).expect("the index is there");
    let (_, obligations) = text.split_once("## The specification").expect("the second table");
    let rows: Vec<&str> =
        obligations.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() > 60, "{} obligations", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [_, _, checked] = *cells else { panic!("three cells: {row}") };
        let named =
            checked.split("](").skip(1).map(|rest| rest.split(".md)").next().unwrap_or_default());
        let mut count = 0;
        for name in named {
            assert!(Rule::find(name).is_some(), "{name} is no rule: {row}");
            count += 1;
        }
        assert!(
            count > 0 || checked.contains("run time") || checked.contains("not checked"),
            "{row}"
        );
    }
}
