//! `everstep invocations list`

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::selection::Selection;
use crate::remote::{Api, invocation, shown};

/// List invocations, the latest first
#[derive(Debug, Args)]
pub(crate) struct List {
    /// In this state only
    #[arg(long, value_enum, ignore_case = true)]
    state: Option<State>,
    #[command(flatten)]
    selection: Selection,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// It is to run as soon as there is a slot
    Accepted,
    /// An attempt runs
    Running,
    /// The next attempt is due later
    Waiting,
    Succeeded,
    /// No retry is left, or none would help
    Exhausted,
    /// The event became too old
    Expired,
    Cancelled,
    /// Too many destinations have led to it
    Parked,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Accepted => "Accepted",
            Self::Running => "Running",
            Self::Waiting => "Waiting",
            Self::Succeeded => "Succeeded",
            Self::Exhausted => "Exhausted",
            Self::Expired => "Expired",
            Self::Cancelled => "Cancelled",
            Self::Parked => "Parked",
        }
    }
}

impl List {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let max = usize::try_from(self.limit)?;
        let mut filter = self.selection.to_json();
        filter["state"] = json!(self.state.map(State::name));
        // One more than is shown, so that it is known whether there are more.
        let mut found = api.list_own("ListInvocations", "invocations", filter, max + 1)?;
        let more = found.len() > max;
        found.truncate(max);
        if as_json {
            shown::json(&json!({ "invocations": found }))?;
            return Ok(Exit::Good);
        }
        let header = ["Id", "Function", "State", "Accepted", "Last error"];
        shown::table(&header, found.iter().map(row).collect(), "there are no such invocations")?;
        if more {
            Stream::Story.write(&format!("there are more: --limit shows more than {max}\n"))?;
        }
        Ok(Exit::Good)
    }
}

fn row(found: &Value) -> Vec<String> {
    let text = |member| shown::text(found, member);
    vec![
        text("invocationId"),
        text("function"),
        match invocation::is_missing(found) {
            true => format!("{} (no function)", text("state")),
            false => text("state"),
        },
        shown::moment(&found["acceptedAt"]),
        last_error(found),
    ]
}

/// The error that the last attempt to fail had.
pub(in crate::commands) fn last_error(invocation: &Value) -> String {
    let attempts = invocation["attempts"].as_array().into_iter().flatten();
    let errors = attempts.rev().filter_map(|attempt| attempt["errorType"].as_str());
    errors.map(str::to_owned).next().unwrap_or_default()
}
