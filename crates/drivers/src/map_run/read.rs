//! What the store has of Map Runs and their children. Reads beside the shards, and may wait for the disk.

use everstep_executions::{ExecutionId, ListId, Reader, Result, Standing, Summary};
use everstep_history::{Event, Failure, Payload};
use serde::de::DeserializeOwned;

use super::child::{SavedOutcome, Seen};
use super::family::{Family, ITEMS};
use super::record::{self, CHILD, PREFIX, RECORD, Record, SETTINGS, Settings, damaged, decoded};

/// Children that are read at a time.
const CHILDREN_AT_A_TIME: usize = 500;

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

/// The runs of an execution, in the order of their starts.
pub fn of_execution(reader: &Reader, execution: ExecutionId) -> Result<Vec<Found>> {
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

/// What the store has of the first `count` children of a run, by index.
pub fn survey(
    reader: &Reader,
    family: &Family,
    parent: ExecutionId,
    run: u32,
    count: usize,
) -> Result<Vec<Seen>> {
    if !family.is_express() {
        return (0..).take(count).map(|index| child(reader, family, index)).collect();
    }
    let mut seen = vec![Seen::Absent; count];
    for (index, saved) in saved(reader, parent, run)? {
        if let Some(slot) = seen.get_mut(index as usize) {
            *slot = Seen::Saved(saved);
        }
    }
    Ok(seen)
}

/// What the store has of a STANDARD child.
pub fn child(reader: &Reader, family: &Family, index: u32) -> Result<Seen> {
    let Some(summary) = reader.summary(family.id(index))? else { return Ok(Seen::Absent) };
    let result = match summary.standing {
        Standing::Running => None,
        _ => Some(result(reader, &summary)?),
    };
    Ok(Seen::Execution { standing: summary.standing, stopped_ms: summary.stopped_ms, result })
}

fn result(reader: &Reader, summary: &Summary) -> Result<std::result::Result<Payload, Failure>> {
    let last = reader.first_and_last(summary)?.map(|(_, last)| last).unwrap_or_default();
    let result = last.into_iter().rev().find_map(|event| match event {
        Event::ExecutionSucceeded { output, .. } => Some(Ok(output)),
        Event::ExecutionFailed { failure, .. } | Event::ExecutionAborted { failure, .. } => {
            Some(Err(failure))
        }
        _ => None,
    });
    Ok(result.unwrap_or_else(|| Err(Failure::default())))
}

/// The outcomes that are noted of the EXPRESS children of a run, by index.
fn saved(reader: &Reader, parent: ExecutionId, run: u32) -> Result<Vec<(u32, SavedOutcome)>> {
    let prefix = record::key(run, CHILD);
    let notes = reader.notes(parent, &prefix)?;
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

/// All children of a run that the store knows, each with its number of items and without its result.
pub fn children(reader: &Reader, found: &Found) -> Result<Vec<(Seen, u64)>> {
    let saved = saved(reader, found.execution, found.run)?.into_iter().map(|(_, saved)| {
        let items = saved.items();
        (Seen::Saved(saved), items)
    });
    let mut all: Vec<(Seen, u64)> = saved.collect();
    let (list, mut from) = (ListId::of(&found.record.arn), None);
    loop {
        let page = reader.list(list, None, from, CHILDREN_AT_A_TIME)?;
        for Summary { standing, stopped_ms, labels, .. } in page.executions {
            let items = labels.iter().find(|(name, _)| name == ITEMS);
            let items = items.and_then(|(_, items)| items.parse().ok()).unwrap_or(1);
            all.push((Seen::Execution { standing, stopped_ms, result: None }, items));
        }
        from = page.next;
        if from.is_none() {
            return Ok(all);
        }
    }
}
