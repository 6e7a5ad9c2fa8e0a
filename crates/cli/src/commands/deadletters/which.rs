//! Which dead letters are meant, and what stands beside each in a list.

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::commands::invocations::last_error;
use crate::exit::Exit;
use crate::output::{Stream, count};
use crate::remote::selection::Selection;
use crate::remote::{Api, invocation, names, shown};

#[derive(Debug, Args)]
pub(super) struct Filter {
    #[command(flatten)]
    selection: Selection,
    /// Those that failed for this reason only
    #[arg(long, value_enum, ignore_case = true)]
    reason: Option<Reason>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reason {
    /// No retry is left
    RetriesExhausted,
    /// The event became too old
    EventAgeExceeded,
    /// An error that is never tried again
    NonRetryable,
    /// The event is not JSON
    Unparseable,
    /// It was interrupted too often
    InterruptionsExhausted,
    /// The function's concurrency is 0
    ZeroReservedConcurrency,
    /// Too many destinations have led to it
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
    /// Their ids [default: all that the filters let through]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    #[command(flatten)]
    filter: Filter,
    /// All of them, if nothing else says which
    #[arg(long)]
    yes: bool,
    /// Only say which
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
        let said = self.filter.selection.is_some() || self.filter.reason.is_some();
        if said || self.yes || self.dry_run || !self.ids.is_empty() {
            return Ok(());
        }
        let number = list(api, self.to_json(), names::ALL)?.len();
        if number == 0 {
            return Ok(());
        }
        bail!(
            "nothing says which of {} to {verb}\nhint: give their ids or a filter such as --function NAME; --yes \
             takes them all, --dry-run shows them",
            count(number, "dead letter")
        )
    }

    /// An id that was given and is none of those of which something became.
    pub(super) fn missing(&self, api: &Api, done: &[String], verb: &str) -> Option<anyhow::Error> {
        let id = self.ids.iter().find(|id| !done.contains(id))?;
        let found = invocation::fetch(api, id).unwrap_or_default();
        let untold = invocation::untold(&found);
        if found["deadLetter"] == true && !untold.is_empty() {
            return Some(anyhow!(
                "{id} is a dead letter whose record has not reached {} yet\nhint: {verb} it when it has; `everstep \
                 invocations show {id}` tells how it stands",
                untold.join(" and ")
            ));
        }
        Some(anyhow!(
            "{id} is no dead letter, or none that the filters let through\nhint: `everstep invocations show {id}` \
             tells what it is"
        ))
    }
}

pub(super) fn list(api: &Api, filter: Value, max: usize) -> anyhow::Result<Vec<Value>> {
    api.list_own("ListInvocations", "invocations", filter, max)
}

/// What would be done, and is not.
pub(super) fn rehearse(letters: &[Value], done: &str, as_json: bool) -> anyhow::Result<Exit> {
    if as_json {
        shown::json(&json!({ "invocations": letters }))?;
        return Ok(Exit::Good);
    }
    table(letters)?;
    if !letters.is_empty() {
        let letters = count(letters.len(), "dead letter");
        Stream::Story
            .write(&format!("{letters} would be {done}; without --dry-run, it is done\n"))?;
    }
    Ok(Exit::Good)
}

/// A table, or what is said where there is none.
pub(super) fn table(letters: &[Value]) -> anyhow::Result<()> {
    let row = |letter: &Value| {
        vec![
            shown::text(letter, "invocationId"),
            shown::text(letter, "function"),
            shown::moment(&letter["endedAt"]),
            letter["attemptCount"].to_string(),
            why(letter),
        ]
    };
    let header = ["Id", "Function", "Ended", "Attempts", "Why"];
    shown::table(&header, letters.iter().map(row).collect(), "there are no such dead letters")
}

/// The last error, and the reason for giving up if it is not that no retry was left.
fn why(letter: &Value) -> String {
    let (reason, error) = (shown::text(letter, "reason"), last_error(letter));
    match (reason.as_str(), error.is_empty()) {
        ("RetriesExhausted", false) => error,
        (_, true) => reason,
        (_, false) => format!("{reason}: {error}"),
    }
}
