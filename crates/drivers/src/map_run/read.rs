//! What the store has of Map Runs and their children. Reads beside the shards, and may wait for the disk.

use std::ops::Range;

use everstep_executions::{ExecutionId, ListId, Reader, Result, Standing, Summary};
use everstep_history::{Event, Payload};
use serde::de::DeserializeOwned;

use super::child::{SavedOutcome, Seen};
use super::family::{Family, ITEMS};
use super::record::{self, CHILD, PREFIX, RECORD, Record, SETTINGS, Settings, damaged, decoded};

/// Children that are read at a time, without their outputs.
const CHILDREN_AT_A_TIME: usize = 500;
/// Children that are read at a time, each with an output.
const OUTPUTS_AT_A_TIME: usize = 100;

/// A run, with the execution that has started it and its number there.
#[derive(Debug, Clone)]
pub struct Found {
    pub execution: ExecutionId,
    pub run: u32,
    pub record: Record,
}

impl Found {
    /// The current settings: `UpdateMapRun` may have changed them.
    pub fn settings(&self, reader: &Reader) -> Result<Settings> {
        Ok(settings_of(reader, self.execution, self.run)?.unwrap_or(self.record.settings))
    }
}

/// The runs of an execution, in the order of their starts. The notes of their children are passed over.
pub fn of_execution(reader: &Reader, execution: ExecutionId) -> Result<Vec<Found>> {
    let (mut found, mut from) = (Vec::new(), PREFIX.to_vec());
    loop {
        let next = reader.notes_from(execution, PREFIX, &from, 1)?;
        let run = next.first().and_then(|(key, _)| key[PREFIX.len()..].first_chunk());
        let Some(run) = run.map(|run| u32::from_be_bytes(*run)) else { return Ok(found) };
        if let Some(record) = record_of(reader, execution, run)? {
            found.push(Found { execution, run, record });
        }
        let Some(after) = run.checked_add(1) else { return Ok(found) };
        from = record::key(after, "");
    }
}

/// The run of an execution with this number, if it has this ARN.
pub fn find(reader: &Reader, execution: ExecutionId, run: u32, arn: &str) -> Result<Option<Found>> {
    let record = record_of(reader, execution, run)?.filter(|record| record.arn == arn);
    Ok(record.map(|record| Found { execution, run, record }))
}

pub fn record_of(reader: &Reader, execution: ExecutionId, run: u32) -> Result<Option<Record>> {
    one(reader, execution, run, RECORD)
}

/// The settings that `UpdateMapRun` has written, if it was called.
pub fn settings_of(reader: &Reader, execution: ExecutionId, run: u32) -> Result<Option<Settings>> {
    one(reader, execution, run, SETTINGS)
}

fn one<T: DeserializeOwned>(
    reader: &Reader,
    execution: ExecutionId,
    run: u32,
    kind: &str,
) -> Result<Option<T>> {
    let key = record::key(run, kind);
    let notes = reader.notes(execution, &key)?;
    let exact = notes.into_iter().find(|(found, _)| *found == key);
    exact.map(|(_, text)| decoded(&text)).transpose()
}

/// What the store has of some children of a run, of those from `from` on: at least one unless there is none. `outputs`
/// says whether their outputs are wanted.
pub fn survey(
    reader: &Reader,
    family: &Family,
    parent: ExecutionId,
    run: u32,
    children: Range<u32>,
    outputs: bool,
) -> Result<Vec<Seen>> {
    if family.is_express() {
        return survey_notes(reader, parent, run, children, outputs);
    }
    let page = children.take(OUTPUTS_AT_A_TIME);
    page.map(|index| seen(reader, family, index, outputs)).collect()
}

fn survey_notes(
    reader: &Reader,
    parent: ExecutionId,
    run: u32,
    children: Range<u32>,
    outputs: bool,
) -> Result<Vec<Seen>> {
    let page = saved(reader, parent, run, children.start)?;
    let is_last = page.len() < OUTPUTS_AT_A_TIME;
    let mut seen = Vec::new();
    for (index, saved) in page.into_iter().take_while(|(index, _)| children.contains(index)) {
        seen.resize((index - children.start) as usize, Seen::Absent);
        seen.push(Seen::Saved(if outputs { saved } else { saved.without_output() }));
    }
    if is_last || seen.is_empty() {
        seen.resize(children.len(), Seen::Absent);
    }
    Ok(seen)
}

/// What the store has of a STANDARD child.
pub fn child(reader: &Reader, family: &Family, index: u32) -> Result<Seen> {
    seen(reader, family, index, true)
}

fn seen(reader: &Reader, family: &Family, index: u32, outputs: bool) -> Result<Seen> {
    let Some(summary) = reader.summary(family.id(index))? else { return Ok(Seen::Absent) };
    let (standing, stopped_ms) = (summary.standing, summary.stopped_ms);
    if standing != Standing::Succeeded || !outputs {
        return Ok(Seen::Execution { standing, stopped_ms, output: None });
    }
    // Its last steps are the first that leave when it is removed.
    Ok(match output(reader, &summary)? {
        None => Seen::Absent,
        output => Seen::Execution { standing, stopped_ms, output },
    })
}

fn output(reader: &Reader, summary: &Summary) -> Result<Option<Payload>> {
    let last = reader.first_and_last(summary)?.map(|(_, last)| last).unwrap_or_default();
    Ok(last.into_iter().rev().find_map(|event| match event {
        Event::ExecutionSucceeded { output, .. } => Some(output),
        _ => None,
    }))
}

/// Some outcomes that are noted of the EXPRESS children of a run from this index on, with their indexes.
fn saved(
    reader: &Reader,
    parent: ExecutionId,
    run: u32,
    from: u32,
) -> Result<Vec<(u32, SavedOutcome)>> {
    let (prefix, from) = (record::key(run, CHILD), record::outcome_key(run, from));
    let notes = reader.notes_from(parent, &prefix, &from, OUTPUTS_AT_A_TIME)?;
    let read = |(key, text): (Vec<u8>, Vec<u8>)| {
        let index = key.get(prefix.len()..).and_then(|index| index.try_into().ok());
        let index = index.map(u32::from_be_bytes).ok_or_else(|| damaged(&"its key is short"))?;
        Ok((index, decoded(&text)?))
    };
    notes.into_iter().map(read).collect()
}

/// Some children of a run that are running.
pub fn running(reader: &Reader, found: &Found) -> Result<Vec<ExecutionId>> {
    let list = ListId::of(&found.record.arn);
    let page = reader.list(list, Some(Standing::Running), None, CHILDREN_AT_A_TIME)?;
    Ok(page.executions.iter().map(Summary::id).collect())
}

/// All children of a run that the store knows, each with its number of items and without its output.
pub fn children(reader: &Reader, found: &Found) -> Result<Vec<(Seen, u64)>> {
    let (mut all, mut from) = (Vec::new(), Some(0));
    while let Some(index) = from {
        let page = saved(reader, found.execution, found.run, index)?;
        from = page.last().and_then(|(last, _)| last.checked_add(1));
        all.extend(page.into_iter().map(|(_, saved)| {
            let items = saved.items();
            (Seen::Saved(saved.without_output()), items)
        }));
    }
    let (list, mut from) = (ListId::of(&found.record.arn), None);
    loop {
        let page = reader.list(list, None, from, CHILDREN_AT_A_TIME)?;
        for Summary { standing, stopped_ms, labels, .. } in page.executions {
            let items = labels.iter().find(|(name, _)| name == ITEMS);
            let items = items.and_then(|(_, items)| items.parse().ok()).unwrap_or(1);
            all.push((Seen::Execution { standing, stopped_ms, output: None }, items));
        }
        from = page.next;
        if from.is_none() {
            return Ok(all);
        }
    }
}
