//! The examples of `docs/configuration.md` are good configurations, and its list of rules is whole.

use std::io;
use std::path::Path;

use everstep_config::{Parameters, Rule, read};

const PAGE: &str = include_str!("../../../docs/configuration.md");

/// What the examples name.
fn load(path: &Path, example: &str) -> io::Result<String> {
    let text = match path.to_str().unwrap_or_default() {
        "everstep.yaml" => example,
        "order.asl.json" | "checkout.asl.yaml" | "host.json" | "TimerTrigger1/function.json" => {
            "{}"
        }
        _ => return Err(io::ErrorKind::NotFound.into()),
    };
    Ok(text.to_owned())
}

#[test]
fn every_example_is_good() {
    let examples: Vec<&str> = PAGE
        .split("```yaml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("a split has a first part"))
        .collect();
    assert!(examples.len() >= 8);
    for example in examples {
        let (mut load, env) = (|path: &Path| load(path, example), |_: &str| Some("x".to_owned()));
        let parsed = read(Path::new("everstep.yaml"), &mut load, &env, &Parameters::default());
        assert!(parsed.diagnostics.is_empty(), "{example}\n{:#?}", parsed.diagnostics);
    }
}

/// The page quotes commands that are run in the folder of the example.
#[test]
fn the_first_example_is_the_one_in_the_examples() {
    let file = include_str!("../../../examples/functions/everstep.yaml");
    assert!(PAGE.split("```yaml\n").nth(1).is_some_and(|rest| rest.starts_with(file)));
}

#[test]
fn every_rule_is_listed() {
    for rule in Rule::ALL {
        let named = format!("`{rule}`");
        let row = PAGE.lines().find(|line| line.starts_with("| ") && line.contains(&named));
        let row = row.unwrap_or_else(|| panic!("{rule} is not listed"));
        assert!(row.contains(&format!("| {} |", rule.severity().name())), "{row}");
    }
}
