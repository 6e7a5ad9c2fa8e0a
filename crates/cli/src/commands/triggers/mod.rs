//! `everstep triggers`: what starts functions and state machines of a server.

mod control;
mod fire;
mod list;
mod show;

use anyhow::anyhow;
use everstep_source::nearest;
use serde_json::{Value, json};

use crate::output::choices;
use crate::remote::Api;

super::group::group! {
    /// List, show, pause, resume and fire triggers
    Triggers {
        List(list::List),
        Show(show::Show),
        Pause(control::Pause),
        Resume(control::Resume),
        Fire(fire::Fire),
    }
    AFTER_HELP
}

const AFTER_HELP: &str = "\
Examples:
  everstep triggers list
  everstep triggers show nightly         counters, last runs, what is in flight
  everstep triggers pause nightly        until it is resumed, also over restarts
  everstep triggers fire nightly         now, whatever its schedule says
  everstep triggers fire hook --payload '{\"n\":1}'
  everstep invocations list --source nightly
  everstep deadletters list --source nightly

The triggers are those of the everstep.yaml that the server was started with.
To see when a timer is due and what happens if it fails, run
`everstep explain NAME`.

Exit codes:
  0  success
  2  invalid arguments, no connection, or the server rejected the request";

/// Asks something of a trigger.
fn ask(api: &Api, operation: &str, name: &str, payload: Option<Value>) -> anyhow::Result<Value> {
    check(api, name)?;
    let mut input = json!({ "name": name });
    if let Some(payload) = payload {
        input["payload"] = payload;
    }
    api.operate(operation, &input)
}

/// An unknown name is answered with the nearest one.
fn check(api: &Api, name: &str) -> anyhow::Result<()> {
    let all = api.operate("ListTriggers", &json!({}))?;
    let names = all["triggers"].as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|trigger| trigger["name"].as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    Err(match nearest(name, names.iter().copied()) {
        Some(near) => anyhow!("unknown trigger `{name}`; did you mean `{near}`?"),
        None if names.is_empty() => anyhow!(
            "unknown trigger `{name}`: the server has no triggers\nhint: name them below `triggers` in everstep.yaml"
        ),
        None => {
            anyhow!("unknown trigger `{name}`; the server has {}", choices(names.iter().copied()))
        }
    })
}
