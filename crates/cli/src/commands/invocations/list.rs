//! `everstep invocations list`

use clap::{Args, ValueEnum};
use everstep_story::invocation::short_state;
use serde_json::{Value, json};

use crate::commands::group::Limit;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::selection::Selection;
use crate::remote::{Api, display};

/// List invocations, newest first
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only invocations in this state
    #[arg(long, value_enum, ignore_case = true)]
    state: Option<State>,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum State {
    /// Waits for a free slot of the function
    Accepted,
    /// An attempt is running
    Running,
    /// Waits for the next retry
    Waiting,
    Succeeded,
    /// No retry is left, or the error is not retryable
    Exhausted,
    /// The event became too old
    Expired,
    Cancelled,
    /// Stopped because destinations form a loop
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
        let mut filter = self.selection.to_json();
        filter["state"] = json!(self.state.map(State::name));
        let max = self.limit.fetched();
        let mut found = api.list_own("ListInvocations", "invocations", filter, max)?;
        let more = self.limit.apply(&mut found);
        if as_json {
            display::json(&json!({ "invocations": found }))?;
            return Ok(Exit::Good);
        }
        let header = ["Id", "Function", "State", "Accepted", "Last error"];
        display::table(&header, found.iter().map(row).collect(), "no invocations found")?;
        Stream::Story.write(&more.unwrap_or_default())?;
        Ok(Exit::Good)
    }
}

fn row(found: &Value) -> Vec<String> {
    let text = |member| display::text(found, member);
    vec![
        text("invocationId"),
        text("function"),
        short_state(found),
        display::moment(&found["acceptedAt"]),
        last_error(found),
    ]
}

/// The error of the last attempt that failed.
pub(in crate::commands) fn last_error(invocation: &Value) -> String {
    let attempts = invocation["attempts"].as_array().into_iter().flatten();
    let errors = attempts.rev().filter_map(|attempt| attempt["errorType"].as_str());
    errors.map(str::to_owned).next().unwrap_or_default()
}
