//! Mistakes in retriers, catchers and Choice rules.

use serde_json::{Value, json};

use super::Mutate;
use super::site::{Site, State};

pub(super) const KINDS: &[(&str, Mutate)] = &[
    ("States.ALL before another retrier", |site| {
        retry(site, json!([{ "ErrorEquals": ["States.ALL"] }, { "ErrorEquals": ["E"] }]))
    }),
    ("States.ALL beside another name", |site| {
        retry(site, json!([{ "ErrorEquals": ["States.ALL", "E"] }]))
    }),
    ("no error names", |site| retry(site, json!([{ "ErrorEquals": [] }]))),
    ("a retrier without error names", |site| retry(site, json!([{ "MaxAttempts": 1 }]))),
    ("an interval of 0", |site| retrier(site, "IntervalSeconds", json!(0))),
    ("a negative number of attempts", |site| retrier(site, "MaxAttempts", json!(-1))),
    ("a rate below 1", |site| retrier(site, "BackoffRate", json!(0.5))),
    ("an unknown jitter", |site| retrier(site, "JitterStrategy", json!("SOME"))),
    ("a greatest delay of 0", |site| retrier(site, "MaxDelaySeconds", json!(0))),
    ("a retrier that is no object", |site| retry(site, json!(["E"]))),
    ("a catcher without Next", |site| catch(site, json!({ "ErrorEquals": ["E"] }))),
    ("a catcher that leads nowhere", |site| {
        catch(site, json!({ "ErrorEquals": ["E"], "Next": "Nowhere" }))
    }),
    ("a rule without an operator", no_operator),
    ("a rule with two operators", |site| rule_with(site, "IsPresent", json!(true))),
    ("a rule with a misspelt operator", misspelt_operator),
    ("an operator with the wrong type", |site| operator_value(site, json!({}))),
    ("a nested rule with Next", nested_next),
    ("no rules", |site| Some(_ = site.of_type("Choice")?.insert("Choices".into(), json!([])))),
];

fn retry(site: &mut Site<'_>, retriers: Value) -> Option<()> {
    site.state(|state, _| state["Type"] == "Task")?.insert("Retry".to_owned(), retriers);
    Some(())
}

fn retrier(site: &mut Site<'_>, name: &str, value: Value) -> Option<()> {
    retry(site, json!([{ "ErrorEquals": ["E"], name: value }]))
}

fn catch(site: &mut Site<'_>, catcher: Value) -> Option<()> {
    site.state(|state, _| state["Type"] == "Task")?.insert("Catch".to_owned(), json!([catcher]));
    Some(())
}

/// The first rule of a Choice that compares a variable.
fn rule<'s>(site: &'s mut Site<'_>) -> Option<&'s mut State> {
    let compares = |state: &State| {
        state.get("Choices").is_some_and(|rules| rules[0].get("Variable").is_some())
    };
    let state = site.state(|state, _| compares(state))?;
    state.get_mut("Choices")?.get_mut(0)?.as_object_mut()
}

fn operator(rule: &State) -> Option<String> {
    let others = ["Variable", "Next", "Comment", "Assign"];
    rule.keys().find(|name| !others.contains(&name.as_str())).cloned()
}

fn no_operator(site: &mut Site<'_>) -> Option<()> {
    let rule = rule(site)?;
    let name = operator(rule)?;
    rule.remove(&name).map(drop)
}

fn rule_with(site: &mut Site<'_>, name: &str, value: Value) -> Option<()> {
    let rule = rule(site)?;
    operator(rule).filter(|operator| operator != name)?;
    rule.insert(name.to_owned(), value);
    Some(())
}

fn misspelt_operator(site: &mut Site<'_>) -> Option<()> {
    let rule = rule(site)?;
    let name = operator(rule)?;
    let value = rule.remove(&name)?;
    rule.insert(name.replace("Equals", "Equal").replace("Is", "Si"), value);
    Some(())
}

fn operator_value(site: &mut Site<'_>, value: Value) -> Option<()> {
    let rule = rule(site)?;
    let name = operator(rule)?;
    rule.insert(name, value);
    Some(())
}

fn nested_next(site: &mut Site<'_>) -> Option<()> {
    let rule = rule(site)?;
    let next = rule.get("Next")?.clone();
    let inner = Value::Object(rule.clone());
    *rule = State::from_iter([("And".to_owned(), json!([inner])), ("Next".to_owned(), next)]);
    Some(())
}
