//! `everstep functions list`

use clap::Args;
use everstep_retry::Policy;
use everstep_source::words;
use everstep_story::invocation::policy;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::remote::{Api, display};

/// List functions with their retry policies and their load
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    #[expect(clippy::unused_self, reason = "as every other action")]
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.operate("ListFunctions", &json!({}))?;
        if as_json {
            display::json(&answer)?;
            return Ok(Exit::Good);
        }
        let functions = answer["functions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let header = ["Name", "Runtime", "Concurrency", "Timeout", "Retries", "Load"];
        let nothing = "no functions; to serve those of an everstep.yaml, run `everstep serve --functions PATH`";
        display::table(&header, functions.iter().map(row).collect(), nothing)?;
        Ok(Exit::Good)
    }
}

fn row(function: &Value) -> Vec<String> {
    let timeout = function["timeoutMs"].as_i64().map(words::span);
    let retries = serde_json::from_value::<Policy>(function["policy"].clone());
    vec![
        display::text(function, "name"),
        display::text(function, "runtime"),
        concurrency(function),
        timeout.unwrap_or_default(),
        retries.map(|retries| policy::describe(&retries).join("\n")).unwrap_or_default(),
        now(function),
    ]
}

/// How many run at a time, and what happens to more.
fn concurrency(function: &Value) -> String {
    match (function["concurrency"].as_u64(), function["throttles"].as_bool()) {
        (Some(0), _) => "0, disabled".to_owned(),
        (Some(number), Some(true)) => format!("{number}, then throttled"),
        (Some(number), Some(false)) => format!("{number}, then queued"),
        _ => function["concurrency"].to_string(),
    }
}

/// `2 running, 1 idle, 5 waiting`
fn now(function: &Value) -> String {
    let number = |member: &str| function[member].as_u64().unwrap_or_default();
    let (idle, waiting) = (number("idle"), number("waiting"));
    let running = number("workers").saturating_sub(idle);
    let counts = [(running, "running"), (idle, "idle"), (waiting, "waiting")];
    let counts = counts.into_iter().filter(|(number, _)| *number > 0);
    let words: Vec<String> = counts.map(|(number, what)| format!("{number} {what}")).collect();
    if words.is_empty() { "–".to_owned() } else { words.join(", ") }
}
