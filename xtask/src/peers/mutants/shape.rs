//! Mistakes in the shape of objects and in transitions.

use serde_json::{Value, json};

use super::Mutate;
use super::site::Site;

pub(super) const KINDS: &[(&str, Mutate)] = &[
    ("drop a required field", drop_required),
    ("misspell a field", |site| rename(site, misspelt)),
    ("begin a field with a small letter", |site| rename(site, small)),
    ("retype a value", retype),
    ("lead nowhere", lead_nowhere),
    ("start nowhere", |site| set_top(site, "StartAt", json!("Nowhere"))),
    ("strand a state", strand),
    ("never end", never_end),
    ("lead on and end", lead_on_and_end),
    ("repeat a state's name", repeat_name),
    ("misspell a type", |site| {
        Some(_ = site.state(|_, _| true)?.insert("Type".into(), json!("Tsak")))
    }),
    ("name a state with 81 characters", long_name),
    ("another version of the language", |site| set_top(site, "Version", json!("2.0"))),
    ("a field of another type of state", misplace),
    ("a field of the other query language", other_language),
    ("a Map without a processor", without_processor),
    ("a field of a distributed Map", distributed_field),
    ("a writer without a configuration", empty_writer),
    ("Seconds and SecondsPath", |site| both(site, "Wait", "Seconds", json!(1))),
    ("no duration", no_duration),
    ("an invalid timestamp", invalid_timestamp),
    ("no states", |site| set_top(site, "States", json!({}))),
    ("an unknown field of the machine", |site| set_top(site, "Owner", json!("us"))),
    ("a comment that is no text", |site| set_top(site, "Comment", json!(5))),
    ("an unknown query language", |site| set_top(site, "QueryLanguage", json!("jsonata"))),
    ("a JSONPath state in a JSONata machine", step_down),
    ("no branches", |site| field(site, "Parallel", "Branches", json!([]))),
    ("a branch that leads out", lead_out),
    ("a negative concurrency", |site| field(site, "Map", "MaxConcurrency", json!(-1))),
    ("a percentage above 100", |site| field(site, "Map", "ToleratedFailurePercentage", json!(101))),
    ("an unknown mode of a Map", unknown_mode),
    ("Error and ErrorPath", |site| both(site, "Fail", "Error", json!("E"))),
    ("TimeoutSeconds and TimeoutSecondsPath", |site| {
        both(site, "Task", "TimeoutSeconds", json!(1))
    }),
];

fn set_top(site: &mut Site<'_>, name: &str, value: Value) -> Option<()> {
    site.definition.as_object_mut()?.insert(name.to_owned(), value);
    Some(())
}

const REQUIRED: &[&str] =
    &["Type", "Resource", "Choices", "Branches", "ItemProcessor", "Iterator", "Next", "End"];

fn drop_required(site: &mut Site<'_>) -> Option<()> {
    let (state, name) = site.field(REQUIRED)?;
    state.remove(name).map(drop)
}

fn rename(site: &mut Site<'_>, renamed: fn(&str) -> String) -> Option<()> {
    let (state, name) = site.field(&[
        "Type",
        "Resource",
        "Next",
        "End",
        "Retry",
        "Catch",
        "Parameters",
        "Result",
        "ResultPath",
        "TimeoutSeconds",
        "Choices",
        "Default",
        "Seconds",
        "Output",
        "Arguments",
        "Error",
        "Cause",
    ])?;
    let value = state.remove(name)?;
    state.insert(renamed(name), value);
    Some(())
}

/// `Next` becomes `Netx`.
fn misspelt(name: &str) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let last = letters.len() - 1;
    letters.swap(last - 1, last);
    letters.into_iter().collect()
}

fn small(name: &str) -> String {
    format!("{}{}", name[..1].to_lowercase(), &name[1..])
}

fn retype(site: &mut Site<'_>) -> Option<()> {
    let (state, name) = site.field(&[
        "Next",
        "End",
        "Retry",
        "Catch",
        "TimeoutSeconds",
        "Choices",
        "Branches",
        "Seconds",
        "Default",
        "Resource",
        "Comment",
        "Error",
        "Cause",
    ])?;
    let value = state.get_mut(name)?;
    *value = match value {
        Value::String(_) => json!(5),
        Value::Number(number) => json!(number.to_string()),
        Value::Bool(bool) => json!(bool.to_string()),
        Value::Array(_) => json!({}),
        _ => json!([]),
    };
    Some(())
}

fn lead_nowhere(site: &mut Site<'_>) -> Option<()> {
    let (state, name) = site.field(&["Next", "Default"])?;
    state.insert(name.to_owned(), json!("Nowhere"));
    Some(())
}

fn strand(site: &mut Site<'_>) -> Option<()> {
    let states = site.definition["States"].as_object_mut()?;
    states.insert("Stranded".to_owned(), json!({ "Type": "Succeed" }));
    Some(())
}

/// Every end leads back to the start.
fn never_end(site: &mut Site<'_>) -> Option<()> {
    let start = site.definition["StartAt"].clone();
    for (_, state) in site.definition["States"].as_object_mut()? {
        if state["Type"] == "Succeed" || state["Type"] == "Fail" {
            *state = json!({ "Type": "Pass", "End": true });
        }
        if state.as_object_mut()?.remove("End").is_some() {
            state["Next"] = start.clone();
        }
    }
    Some(())
}

fn lead_on_and_end(site: &mut Site<'_>) -> Option<()> {
    let start = site.definition["StartAt"].clone();
    let states = site.definition["States"].as_object_mut()?;
    let (_, state) = states.iter_mut().find(|(_, state)| state["End"] == true)?;
    state["Next"] = start;
    Some(())
}

/// A Parallel state before the first one, with a state inside that is called as the first one is.
fn repeat_name(site: &mut Site<'_>) -> Option<()> {
    let start = site.definition["StartAt"].as_str()?.to_owned();
    let branch = json!({ "StartAt": start, "States": { &*start: { "Type": "Succeed" } } });
    let both = json!({ "Type": "Parallel", "Branches": [branch], "Next": start });
    site.definition["States"].as_object_mut()?.insert("Both".to_owned(), both);
    set_top(site, "StartAt", json!("Both"))
}

fn long_name(site: &mut Site<'_>) -> Option<()> {
    let (start, name) = (site.definition["StartAt"].clone(), "x".repeat(81));
    let first = json!({ "Type": "Pass", "Next": start });
    site.definition["States"].as_object_mut()?.insert(name.clone(), first);
    set_top(site, "StartAt", json!(name))
}

fn misplace(site: &mut Site<'_>) -> Option<()> {
    let (kind, name, value) = site.random.pick(&[
        ("Pass", "Retry", json!([{ "ErrorEquals": ["States.ALL"] }])),
        ("Pass", "Seconds", json!(1)),
        ("Wait", "ResultPath", json!("$.x")),
        ("Succeed", "End", json!(true)),
        ("Fail", "InputPath", json!("$.x")),
        ("Choice", "End", json!(true)),
        ("Task", "Choices", json!([])),
    ])?;
    site.of_type(kind)?.insert(name.to_owned(), value);
    Some(())
}

fn other_language(site: &mut Site<'_>) -> Option<()> {
    let jsonata = site.random.pick(&[true, false])?;
    let state = site.state(|state, speaks| state["Type"] == "Pass" && speaks == jsonata)?;
    let (name, value) =
        if jsonata { ("Parameters", json!({})) } else { ("Output", json!("{% 1 %}")) };
    state.insert(name.to_owned(), value);
    Some(())
}

fn without_processor(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, _| state["Type"] == "Map")?;
    state.retain(|name, _| name != "ItemProcessor" && name != "Iterator");
    Some(())
}

fn distributed_field(site: &mut Site<'_>) -> Option<()> {
    let inline = |state: &super::site::State| {
        let config = state.get("ItemProcessor").and_then(|inner| inner.get("ProcessorConfig"));
        config.is_none_or(|config| config["Mode"] != "DISTRIBUTED")
    };
    let state = site.state(|state, _| state["Type"] == "Map" && inline(state))?;
    state.insert("Label".to_owned(), json!("label"));
    Some(())
}

fn empty_writer(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, _| state["Type"] == "Map")?;
    let processor = state.get_mut("ItemProcessor")?;
    processor["ProcessorConfig"] = json!({ "Mode": "DISTRIBUTED", "ExecutionType": "STANDARD" });
    state.insert("ResultWriter".to_owned(), json!({ "WriterConfig": {} }));
    Some(())
}

/// A field, and its `…Path`.
fn both(site: &mut Site<'_>, kind: &str, name: &str, value: Value) -> Option<()> {
    let state = site.of_type(kind)?;
    state.insert(name.to_owned(), value);
    state.insert(format!("{name}Path"), json!("$.x"));
    Some(())
}

fn field(site: &mut Site<'_>, kind: &str, name: &str, value: Value) -> Option<()> {
    site.state(|state, _| state["Type"] == kind)?.insert(name.to_owned(), value);
    Some(())
}

fn step_down(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, jsonata| jsonata && !state.contains_key("QueryLanguage"))?;
    state.insert("QueryLanguage".to_owned(), json!("JSONPath"));
    Some(())
}

/// The first state of a branch leads to the machine's first state.
fn lead_out(site: &mut Site<'_>) -> Option<()> {
    let start = site.definition["StartAt"].clone();
    let state = site.state(|state, _| state["Type"] == "Parallel")?;
    let branch = state.get_mut("Branches")?.get_mut(0)?;
    let (_, inner) = branch["States"].as_object_mut()?.iter_mut().next()?;
    let inner = inner.as_object_mut()?;
    inner.remove("End")?;
    inner.insert("Next".to_owned(), start);
    Some(())
}

fn unknown_mode(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, _| state["Type"] == "Map")?;
    state.get_mut("ItemProcessor")?["ProcessorConfig"] = json!({ "Mode": "SOMETIMES" });
    Some(())
}

fn no_duration(site: &mut Site<'_>) -> Option<()> {
    let state = site.state(|state, _| state["Type"] == "Wait")?;
    state.retain(|name, _| !name.starts_with("Seconds") && !name.starts_with("Timestamp"));
    Some(())
}

fn invalid_timestamp(site: &mut Site<'_>) -> Option<()> {
    let moment = site.random.pick(&[
        "2016-12-05 21:29:29Z",
        "2016-12-05T25:29:29Z",
        "2016-12-05T21:29:29",
    ])?;
    no_duration(site)?;
    let wait = |state: &super::site::State, _| {
        let waits = |name: &String| name.starts_with("Seconds") || name.starts_with("Timestamp");
        state["Type"] == "Wait" && !state.keys().any(waits)
    };
    site.state(wait)?.insert("Timestamp".to_owned(), json!(moment));
    Some(())
}
