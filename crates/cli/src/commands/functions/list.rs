//! `everstep functions list`

use clap::Args;
use everstep_retry::Policy;
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::remote::{Api, policy, shown};
use everstep_source::words;

/// List the functions, with what is tried again when they fail, and how many calls run and wait
#[derive(Debug, Args)]
pub(crate) struct List {}

impl List {
    #[expect(clippy::unused_self, reason = "as every other action")]
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.operate("ListFunctions", &json!({}))?;
        if as_json {
            shown::json(&answer)?;
            return Ok(Exit::Good);
        }
        let functions = answer["functions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let header = ["Name", "Runtime", "At a time", "Timeout", "Tried again", "Now"];
        let nothing = "this server has no functions; `everstep serve --functions PATH` serves those of an everstep.yaml";
        shown::table(&header, functions.iter().map(row).collect(), nothing)?;
        Ok(Exit::Good)
    }
}

fn row(function: &Value) -> Vec<String> {
    let timeout = function["timeoutMs"].as_i64().map(words::span);
    let retries = serde_json::from_value::<Policy>(function["policy"].clone());
    vec![
        shown::text(function, "name"),
        shown::text(function, "runtime"),
        at_a_time(function),
        timeout.unwrap_or_default(),
        retries.map(|retries| policy::in_words(&retries).join("\n")).unwrap_or_default(),
        now(function),
    ]
}

/// How many run, and what becomes of more.
fn at_a_time(function: &Value) -> String {
    match (function["concurrency"].as_u64(), function["throttles"].as_bool()) {
        (Some(0), _) => "0, never runs".to_owned(),
        (Some(number), Some(true)) => format!("{number}, more calls are refused"),
        (Some(number), Some(false)) => format!("{number}, more wait"),
        _ => function["concurrency"].to_string(),
    }
}

/// `2 running, 1 idle, 5 waiting`
fn now(function: &Value) -> String {
    let number = |member: &str| function[member].as_u64().unwrap_or_default();
    let (idle, waiting) = (number("idle"), number("waiting"));
    let running = number("workers").saturating_sub(idle);
    let told = [(running, "running"), (idle, "idle"), (waiting, "waiting")];
    let told = told.into_iter().filter(|(number, _)| *number > 0);
    let told: Vec<String> = told.map(|(number, what)| format!("{number} {what}")).collect();
    if told.is_empty() { "–".to_owned() } else { told.join(", ") }
}
