//! `everstep triggers pause` and `everstep triggers resume`

use clap::Args;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Pause a trigger: accept nothing until it is resumed, also over restarts
///
/// What was accepted continues. Ticks of a paused timer are not missed: it continues with the next one.
#[derive(Debug, Args)]
pub(crate) struct Pause {
    /// Name of the trigger
    name: String,
}

/// Resume a trigger that is paused, or blocked by an item that failed
///
/// An item that blocks it is sent back first, with all its retries.
#[derive(Debug, Args)]
pub(crate) struct Resume {
    /// Name of the trigger
    name: String,
}

impl Pause {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = super::ask(api, "PauseTrigger", &self.name, None)?;
        display::answer(&answer, as_json, Stream::Story, &format!("paused {}", self.name))
    }
}

impl Resume {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = super::ask(api, "ResumeTrigger", &self.name, None)?;
        let mut line = format!("resumed {}", self.name);
        match answer["state"].as_str() {
            Some("Running") | None => {}
            Some("Disabled") => line += "; it is disabled in everstep.yaml",
            Some(state) => line += &format!("; it is {} again", state.to_lowercase()),
        }
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
