//! What is stored of a Map Run: notes beside the execution that has started it.
//!
//! The driver alone writes the record, and only `UpdateMapRun` the settings, so neither can undo what the other has
//! written.

use everstep_executions::{Error, Note, Result};
use everstep_interpreter::{Attempt, FrameId, Tolerance};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::child::SavedOutcome;
use super::tally::Tallies;

/// What the keys of all notes of Map Runs begin with; then comes the number of the run.
pub(super) const PREFIX: &[u8] = b"map-run/";
pub(super) const RECORD: &str = "record";
pub(super) const SETTINGS: &str = "settings";
pub(super) const CHILD: &str = "child/";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    pub arn: String,
    pub execution_arn: String,
    pub machine_arn: String,
    pub status: Status,
    pub started_ms: i64,
    pub stopped_ms: Option<i64>,
    /// As the definition has them.
    pub settings: Settings,
    pub redrives: u32,
    pub redriven_ms: Option<i64>,
    /// The attempt that the run is driven under: its frame and its number.
    pub attempt: (u32, u32),
    /// As they were when the run ended, or before it began.
    pub tallies: Tallies,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Status {
    Running,
    Succeeded,
    Failed,
    Aborted,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    pub max_concurrency: u32,
    pub tolerated_count: Option<u64>,
    pub tolerated_percentage: Option<f64>,
}

impl Settings {
    #[must_use]
    pub fn tolerance(&self) -> Tolerance {
        Tolerance { count: self.tolerated_count, percentage: self.tolerated_percentage }
    }
}

impl Record {
    #[must_use]
    pub fn attempt(&self) -> Attempt {
        let (frame, number) = self.attempt;
        Attempt { frame: FrameId(frame), number }
    }
}

pub(super) fn key(run: u32, kind: &str) -> Vec<u8> {
    [PREFIX, &run.to_be_bytes(), kind.as_bytes()].concat()
}

pub(super) fn outcome_key(run: u32, index: u32) -> Vec<u8> {
    [key(run, CHILD).as_slice(), &index.to_be_bytes()].concat()
}

pub(super) fn record_note(run: u32, record: &Record) -> Note {
    Note { key: key(run, RECORD), text: Some(encoded(record)) }
}

/// What `UpdateMapRun` writes.
#[must_use]
pub fn settings_note(run: u32, settings: &Settings) -> Note {
    Note { key: key(run, SETTINGS), text: Some(encoded(settings)) }
}

pub(super) fn outcome_note(run: u32, index: u32, saved: &SavedOutcome) -> Note {
    Note { key: outcome_key(run, index), text: Some(encoded(saved)) }
}

/// Removes the note of a child.
pub(super) fn forget_note(run: u32, index: u32) -> Note {
    Note { key: outcome_key(run, index), text: None }
}

fn encoded(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("its keys are text")
}

pub(super) fn decoded<T: DeserializeOwned>(text: &[u8]) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| damaged(&error))
}

pub(super) fn damaged(why: &dyn std::fmt::Display) -> Error {
    Error::damaged(&format!("a note of a Map Run cannot be read: {why}"))
}
