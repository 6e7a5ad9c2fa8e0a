//! Mistakes in paths, templates, intrinsic functions and JSONata.

use serde_json::{Value, json};

use super::Mutate;
use super::site::Site;

pub(super) const KINDS: &[(&str, Mutate)] = &[
    ("a path without $", |site| path(site, |text| text.trim_start_matches(['$', '.']).to_owned())),
    ("a path that stays open", |site| path(site, |text| format!("{text}["))),
    ("a ResultPath to many nodes", |site| field(site, "ResultPath", json!("$.a[*]"))),
    ("a ResultPath into the context", |site| field(site, "ResultPath", json!("$$.a"))),
    ("a text for a path", |site| template(site, json!({ "x.$": "order" }))),
    ("a number for a path", |site| template(site, json!({ "x.$": 5 }))),
    ("a name twice once .$ is stripped", |site| template(site, json!({ "x": 1, "x.$": "$.x" }))),
    ("misspell an intrinsic function", |site| call(site, "States.Fromat('{}', $.x)")),
    ("a small letter in an intrinsic function", |site| call(site, "States.format('{}', $.x)")),
    ("too few arguments for {}", |site| call(site, "States.Format('{} {}', $.x)")),
    ("too many arguments", |site| call(site, "States.UUID(1)")),
    ("an argument of the wrong type", |site| call(site, "States.MathAdd(1, '-1')")),
    ("an intrinsic function that stays open", |site| call(site, "States.Format('x'")),
    ("a blank behind an intrinsic function", |site| call(site, "States.Format('x') ")),
    ("a blank before an intrinsic function", |site| call(site, " States.Format('x')")),
    ("a CausePath that returns no string", |site| {
        let state = site.of_type("Fail")?;
        state.remove("Cause");
        Some(_ = state.insert("CausePath".to_owned(), json!("States.Array('x')")))
    }),
    ("JSONata that is not opened", |site| jsonata(site, |text| text.replacen("{%", "", 1))),
    ("JSONata that is not closed", |site| jsonata(site, |text| text.replacen("%}", "", 1))),
    ("a blank before JSONata", |site| jsonata(site, |text| format!(" {text}"))),
    ("JSONata without blanks inside", |site| {
        jsonata(site, |text| text.replace("{% ", "{%").replace(" %}", "%}"))
    }),
    ("JSONata with an open bracket", |site| output(site, "{% (1 + 2 %}")),
    ("JSONata with an unknown function", |site| output(site, "{% $nofunction(1) %}")),
    ("JSONata with $eval", |site| output(site, "{% $eval('1') %}")),
    ("JSONata with a bare name", |site| output(site, "{% order.id %}")),
    ("$states.result where there is none", |site| output(site, "{% $states.result %}")),
    ("a variable called states", |site| assign(site, json!({ "states": 1 }))),
    ("an invalid variable name", |site| assign(site, json!({ "a-b": 1 }))),
    ("Assign that is no object", |site| assign(site, json!("x"))),
    ("a text as Seconds in JSONata", |site| wait(site, json!("10"))),
    ("a fraction as Seconds", |site| wait(site, json!(1.5))),
    ("a Condition that is plain text", condition),
];

const PATHS: &[&str] = &["InputPath", "OutputPath", "ItemsPath", "Variable", "SecondsPath"];

fn path(site: &mut Site<'_>, edit: impl Fn(&str) -> String) -> Option<()> {
    let is_path = |name: &str, text: &str| {
        (PATHS.contains(&name) || name.ends_with(".$")) && text.starts_with("$.") && text.len() > 2
    };
    site.edit(is_path, edit)
}

fn field(site: &mut Site<'_>, name: &str, value: Value) -> Option<()> {
    let takes_result = ["Task", "Pass", "Parallel", "Map"];
    let fits = |kind: &Value| takes_result.iter().any(|known| kind == known);
    let state = site.state(|state, jsonata| fits(&state["Type"]) && !jsonata)?;
    state.insert(name.to_owned(), value);
    Some(())
}

fn template(site: &mut Site<'_>, template: Value) -> Option<()> {
    site.of_type("Pass")?.insert("Parameters".to_owned(), template);
    Some(())
}

fn call(site: &mut Site<'_>, call: &str) -> Option<()> {
    template(site, json!({ "x.$": call }))
}

fn jsonata(site: &mut Site<'_>, edit: impl Fn(&str) -> String) -> Option<()> {
    let is_expression = |_: &str, text: &str| text.starts_with("{%") && text.ends_with("%}");
    site.edit(is_expression, edit)
}

fn assign(site: &mut Site<'_>, variables: Value) -> Option<()> {
    let state = site.state(|state, _| state["Type"] == "Pass")?;
    state.insert("Assign".to_owned(), variables);
    Some(())
}

fn wait(site: &mut Site<'_>, seconds: Value) -> Option<()> {
    let state = site.state(|state, jsonata| state.contains_key("Seconds") && jsonata)?;
    state.insert("Seconds".to_owned(), seconds);
    Some(())
}

fn condition(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, jsonata| state["Type"] == "Choice" && jsonata)?;
    state.get_mut("Choices")?.get_mut(0)?["Condition"] = json!("$states.input.x = 1");
    Some(())
}

fn output(site: &mut Site<'_>, expression: &str) -> Option<()> {
    let state = site.state(|state, jsonata| state["Type"] == "Pass" && jsonata)?;
    state.insert("Output".to_owned(), json!({ "x": expression }));
    Some(())
}
