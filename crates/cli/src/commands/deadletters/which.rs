//! Which dead letters a command is about, and the table that shows them.

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use everstep_story::invocation;
use serde_json::{Value, json};

use crate::commands::invocations::last_error;
use crate::exit::Exit;
use crate::output::{Stream, count};
use crate::remote::selection::Selection;
use crate::remote::{Api, display, names};

#[derive(Debug, Args)]
pub(super) struct Filter {
    #[command(flatten)]
    selection: Selection,
    /// Only dead letters with this reason
    #[arg(long, value_enum, ignore_case = true)]
    reason: Option<Reason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reason {
    /// No retry is left
    RetriesExhausted,
    /// The event is too old
    EventAgeExceeded,
    /// The error is not retryable
    NonRetryable,
    /// The event is not JSON
    Unparseable,
    /// Crashes of the server interrupted it too often
    InterruptionsExhausted,
    /// The function's concurrency is 0
    ZeroReservedConcurrency,
    /// Destinations form a loop
    LoopDetected,
}

impl Reason {
    fn name(self) -> &'static str {
        match self {
            Self::RetriesExhausted => "RetriesExhausted",
            Self::EventAgeExceeded => "EventAgeExceeded",
            Self::NonRetryable => "NonRetryable",
            Self::Unparseable => "Unparseable",
            Self::InterruptionsExhausted => "InterruptionsExhausted",
            Self::ZeroReservedConcurrency => "ZeroReservedConcurrency",
            Self::LoopDetected => "LoopDetected",
        }
    }
}

impl Filter {
    /// As the server's operations take it.
    pub(super) fn to_json(&self) -> Value {
        let mut filter = self.selection.to_json();
        filter["deadLetters"] = json!(true);
        filter["reason"] = json!(self.reason.map(Reason::name));
        filter
    }
}

/// Some of them, for what changes them.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// Ids [default: all that match the filters]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    /// All dead letters; required if there are neither ids nor filters
    #[arg(long, alias = "yes")]
    all: bool,
    /// Only list them
    #[arg(long)]
    pub(super) dry_run: bool,
}

impl Which {
    pub(super) fn to_json(&self) -> Value {
        let mut filter = self.filter.to_json();
        if !self.ids.is_empty() {
            filter["ids"] = json!(self.ids);
        }
        filter
    }

    /// Nothing is done to all of them by accident.
    pub(super) fn check(&self, api: &Api, verb: &str) -> anyhow::Result<()> {
        let filtered = self.filter.selection.is_some() || self.filter.reason.is_some();
        if filtered || self.all || self.dry_run || !self.ids.is_empty() {
            return Ok(());
        }
        let number = list(api, self.to_json(), names::ALL)?.len();
        if number == 0 {
            return Ok(());
        }
        bail!(
            "specify which of {} to {verb}: ids, a filter such as --function NAME, or --all\nhint: --dry-run lists \
             them",
            count(number, "dead letter")
        )
    }

    /// Why an id that was given was not handled.
    pub(super) fn missing(&self, api: &Api, done: &[String], verb: &str) -> Option<anyhow::Error> {
        let id = self.ids.iter().find(|id| !done.contains(id))?;
        let found = api.invocation(id).unwrap_or_default();
        let undelivered = invocation::undelivered(&found);
        if found["deadLetter"] == true && !undelivered.is_empty() {
            return Some(anyhow!(
                "dead letter {id} has not been delivered to {} yet\nhint: {verb} it later; `everstep invocations show \
                 {id}` shows its state, `everstep deadletters purge --undelivered {id}` deletes it anyway",
                undelivered.join(" and ")
            ));
        }
        Some(anyhow!(
            "{id} is not a dead letter, or does not match the filters\nhint: `everstep invocations show {id}` \
             shows its state"
        ))
    }
}

pub(super) fn list(api: &Api, filter: Value, max: usize) -> anyhow::Result<Vec<Value>> {
    api.list_own("ListInvocations", "invocations", filter, max)
}

/// A dry run.
pub(super) fn rehearse(letters: &[Value], done: &str, as_json: bool) -> anyhow::Result<Exit> {
    if as_json {
        display::json(&json!({ "invocations": letters }))?;
        return Ok(Exit::Good);
    }
    table(letters)?;
    if !letters.is_empty() {
        let letters = count(letters.len(), "dead letter");
        Stream::Story.write(&format!("dry run: {letters} would be {done}\n"))?;
    }
    Ok(Exit::Good)
}

/// A table, or a line if there are none.
pub(super) fn table(letters: &[Value]) -> anyhow::Result<()> {
    let row = |letter: &Value| {
        vec![
            display::text(letter, "invocationId"),
            display::text(letter, "function"),
            display::moment(&letter["endedAt"]),
            letter["attemptCount"].to_string(),
            reason(letter),
        ]
    };
    let header = ["Id", "Function", "Ended", "Attempts", "Reason"];
    display::table(&header, letters.iter().map(row).collect(), "no dead letters found")
}

/// The last error, and the reason for giving up unless it is that no retry was left.
fn reason(letter: &Value) -> String {
    let (reason, error) = (display::text(letter, "reason"), last_error(letter));
    match (reason.as_str(), error.is_empty()) {
        ("RetriesExhausted", false) => error,
        (_, true) => reason,
        (_, false) => format!("{reason}: {error}"),
    }
}
