//! What is stored of a Map Run: notes beside the execution that has started it.
//!
//! The driver alone writes the record, and only `UpdateMapRun` the settings: so neither can undo what the
//! other has written.

use everstep_api::arn::{Arn, Kind};
use everstep_executions::{Error as Engine, ExecutionId, Message, Note, Reader, Result};
use everstep_interpreter::{Attempt, FrameId, Tolerance};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::tally::Tallies;
use crate::service::Service;

/// What the keys of all notes of Map Runs begin with; then comes the number of the run.
const PREFIX: &[u8] = b"map-run/";

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) arn: String,
    pub(crate) execution_arn: String,
    pub(crate) machine_arn: String,
    pub(crate) status: Status,
    pub(crate) started_ms: i64,
    pub(crate) stopped_ms: Option<i64>,
    /// As the definition has them.
    pub(crate) settings: Settings,
    pub(crate) redrives: u32,
    pub(crate) redriven_ms: Option<i64>,
    /// The attempt that the run is driven under: its frame and its number.
    pub(crate) attempt: (u32, u32),
    /// As they were when the run ended, or before it began.
    pub(crate) tallies: Tallies,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Status {
    Running,
    Succeeded,
    Failed,
    Aborted,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Settings {
    pub(crate) max_concurrency: u32,
    pub(crate) tolerated_count: Option<u64>,
    pub(crate) tolerated_percentage: Option<f64>,
}

impl Settings {
    pub(crate) fn tolerance(&self) -> Tolerance {
        Tolerance { count: self.tolerated_count, percentage: self.tolerated_percentage }
    }
}

impl Record {
    pub(crate) fn attempt(&self) -> Attempt {
        let (frame, number) = self.attempt;
        Attempt { frame: FrameId(frame), number }
    }
}

/// Which run of an execution it is, and its record.
pub(crate) struct Found {
    pub(crate) execution: ExecutionId,
    pub(crate) run: u32,
    pub(crate) record: Record,
}

impl Found {
    /// As they are now: `UpdateMapRun` may have changed them.
    pub(crate) fn settings(&self, reader: &Reader) -> Result<Settings> {
        Ok(settings(reader, self.execution, self.run)?.unwrap_or(self.record.settings))
    }
}

fn key(run: u32, kind: &str) -> Vec<u8> {
    [PREFIX, &run.to_be_bytes(), kind.as_bytes()].concat()
}

const RECORD: &str = "record";
const SETTINGS: &str = "settings";
const CHILD: &str = "child/";

pub(super) fn record_note(run: u32, record: &Record) -> Note {
    Note { key: key(run, RECORD), text: Some(encoded(record)) }
}

pub(super) fn outcome_key(run: u32, index: u32) -> Vec<u8> {
    [key(run, CHILD).as_slice(), &index.to_be_bytes()].concat()
}

/// The outcomes that are noted of the children of a run, with their places.
pub(super) fn outcomes<T: DeserializeOwned>(
    reader: &Reader,
    execution: ExecutionId,
    run: u32,
) -> Result<Vec<(u32, T)>> {
    let prefix = key(run, CHILD);
    let notes = reader.notes(execution, &prefix)?;
    let read = |(key, text): (Vec<u8>, Vec<u8>)| {
        let index = key.get(prefix.len()..).and_then(|index| index.try_into().ok());
        let index = index.map(u32::from_be_bytes).ok_or_else(|| damaged(&"its key is short"))?;
        Ok((index, decoded(&text)?))
    };
    notes.into_iter().map(read).collect()
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("it has text for keys")
}

fn decoded<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| damaged(&error))
}

fn damaged(why: &dyn std::fmt::Display) -> Engine {
    Engine::Damaged(format!("a note of a Map Run cannot be read: {why}").into())
}

/// The runs of an execution, in the order of their starts.
pub(crate) fn of_execution(reader: &Reader, execution: ExecutionId) -> Result<Vec<Found>> {
    let mut found = Vec::new();
    for (key, text) in reader.notes(execution, PREFIX)? {
        let Some((run, kind)) = key[PREFIX.len()..].split_first_chunk() else { continue };
        if kind == RECORD.as_bytes() {
            let (run, record) = (u32::from_be_bytes(*run), decoded(&text)?);
            found.push(Found { execution, run, record });
        }
    }
    Ok(found)
}

/// The run of an ARN that names one. The execution that started it is read off its name.
pub(crate) fn find(reader: &Reader, arn: &str) -> Result<Option<Found>> {
    let Some((execution, run)) = parent(arn) else { return Ok(None) };
    let record = one::<Record>(reader, execution, run, RECORD)?;
    Ok(record.filter(|record| record.arn == arn).map(|record| Found { execution, run, record }))
}

pub(super) fn record_of(
    reader: &Reader,
    execution: ExecutionId,
    run: u32,
) -> Result<Option<Record>> {
    one(reader, execution, run, RECORD)
}

/// As `UpdateMapRun` has left them, if it was called.
pub(super) fn settings(
    reader: &Reader,
    execution: ExecutionId,
    run: u32,
) -> Result<Option<Settings>> {
    one(reader, execution, run, SETTINGS)
}

fn one<T: DeserializeOwned>(
    reader: &Reader,
    execution: ExecutionId,
    run: u32,
    kind: &str,
) -> Result<Option<T>> {
    let key = key(run, kind);
    let notes = reader.notes(execution, &key)?;
    let exact = notes.into_iter().find(|(found, _)| *found == key);
    exact.map(|(_, text)| decoded(&text)).transpose()
}

fn parent(arn: &str) -> Option<(ExecutionId, u32)> {
    let parsed = Arn::parse(arn).ok()?;
    let Kind::MapRun { machine, label, run } = parsed.kind else { return None };
    let (name, number) = run.rsplit_once('-')?;
    let machine = match label.rsplit_once('/') {
        Some((outer, _)) => format!("{machine}/{outer}"),
        None => machine.to_owned(),
    };
    let execution = format!("{}:execution:{machine}:{name}", parsed.place);
    Some((ExecutionId::of(&execution), number.parse().ok()?))
}

/// Writes what `UpdateMapRun` says, and tells the driver.
pub(crate) async fn update(service: &Service, found: &Found, settings: Settings) -> Result<()> {
    let id = found.execution;
    let notes = vec![Note { key: key(found.run, SETTINGS), text: Some(encoded(&settings)) }];
    service.ask(|reply| Message::Note { id, notes, reply }).await?;
    if let Some(live) = service.map_runs.find(id, found.record.attempt()) {
        live.change(settings);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arn: &str, expected: Option<(&str, u32)>) {
        let expected = expected.map(|(arn, run)| (ExecutionId::of(arn), run));
        assert_eq!(parent(arn), expected, "{arn}");
    }

    #[test]
    fn a_run_says_which_execution_started_it() {
        check(
            "arn:aws:states:r:1:mapRun:m/label:name-7",
            Some(("arn:aws:states:r:1:execution:m:name", 7)),
        );
        check(
            "arn:aws:states:r:1:mapRun:m/outer/inner:a-b-12",
            Some(("arn:aws:states:r:1:execution:m/outer:a-b", 12)),
        );
        check("arn:aws:states:r:1:mapRun:m/label:name", None);
        check("arn:aws:states:r:1:execution:m:name-7", None);
    }
}
