//! All that was ever written down of invocations and sessions, read off the batches as they pass by.
//!
//! It does not ask the engine: it knows the keys by itself, and what of them would survive a crash.

use std::collections::BTreeMap;

use everstep_invocations::{Invocation, InvocationId, Session};
use everstep_store::{Batch, Space, Write};

use crate::ledger::Moment;

const RECORD: u8 = 0;
const EVENT: u8 = 1;
const RESPONSE: u8 = 2;
const SESSION: u8 = 3;

#[derive(Default)]
pub(crate) struct Ledger {
    lives: BTreeMap<InvocationId, Vec<Life>>,
    sessions: BTreeMap<InvocationId, Vec<(u64, Option<Session>)>>,
}

/// An invocation from its acceptance to its removal. A key may be used again after that.
pub(crate) struct Life {
    pub(crate) id: InvocationId,
    /// As it was written, each time. Never empty.
    pub(crate) versions: Vec<Version>,
    /// The batch that removed it, or put another one in its place.
    pub(crate) gone: Option<u64>,
    /// It has changed since checkers last saw it.
    pub(crate) fresh: bool,
}

pub(crate) struct Version {
    /// The number of its batch.
    pub(crate) batch: u64,
    /// The engine's clock when it was handed over.
    pub(crate) handed_ms: i64,
    pub(crate) invocation: Invocation,
    /// What an attempt has answered, if it ended with this.
    pub(crate) response: Option<Vec<u8>>,
}

impl Life {
    /// As it was written last.
    pub(crate) fn invocation(&self) -> &Invocation {
        &self.versions.last().expect("a life begins with a version").invocation
    }

    /// The batch of its acceptance, which names it.
    pub(crate) fn begun(&self) -> u64 {
        self.versions.first().map_or(0, |version| version.batch)
    }

    pub(crate) fn is_there(&self) -> bool {
        self.gone.is_none()
    }

    /// The versions up to a batch.
    pub(crate) fn to(&self, batch: u64) -> impl DoubleEndedIterator<Item = &Version> {
        self.versions.iter().filter(move |version| version.batch <= batch)
    }
}

impl Ledger {
    /// Takes what a batch writes: the invocations that it changes, or what is wrong with it.
    pub(crate) fn take(
        &mut self,
        batch: &Batch,
        moment: Moment,
    ) -> Result<Vec<InvocationId>, (Option<InvocationId>, String)> {
        let mut touched = Vec::new();
        for Write { space, key, value } in &batch.writes {
            if *space != Space::Invocations {
                continue;
            }
            let Some((id, part)) = parse(key) else {
                return Err((None, format!("a key of an invocation cannot be read: {key:?}")));
            };
            match (part, value) {
                (RECORD, Some(row)) => {
                    let invocation = Invocation::decode(row)
                        .map_err(|error| (Some(id), format!("it cannot be read: {error}")))?;
                    // An event is written with its acceptance, and never again.
                    let anew = part_of(batch, id, EVENT).is_some();
                    let response = part_of(batch, id, RESPONSE);
                    self.write(id, invocation, (response, anew), moment);
                    touched.push(id);
                }
                (RECORD, None) => {
                    if let Some(life) = self.last_mut(id) {
                        life.gone.get_or_insert(moment.batch);
                    }
                }
                (SESSION, row) => {
                    let session = row.as_deref().map(Session::decode).transpose();
                    let session = session.map_err(|error| {
                        (Some(id), format!("its session cannot be read: {error}"))
                    })?;
                    self.sessions.entry(id).or_default().push((moment.batch, session));
                }
                _ => {}
            }
        }
        Ok(touched)
    }

    fn write(
        &mut self,
        id: InvocationId,
        invocation: Invocation,
        (response, anew): (Option<Vec<u8>>, bool),
        moment: Moment,
    ) {
        let Moment { batch, now_ms: handed_ms, .. } = moment;
        let version = Version { batch, handed_ms, invocation, response };
        let lives = self.lives.entry(id).or_default();
        match lives.last_mut() {
            Some(life) if !anew && life.gone.is_none() => {
                life.versions.push(version);
                life.fresh = true;
            }
            last => {
                if let Some(last) = last {
                    last.gone.get_or_insert(batch);
                }
                lives.push(Life { id, versions: vec![version], gone: None, fresh: true });
            }
        }
    }

    /// Forgets what did not survive.
    pub(crate) fn crash(&mut self, durable_to: u64) {
        for lives in self.lives.values_mut() {
            for life in lives.iter_mut() {
                life.versions.retain(|version| version.batch <= durable_to);
                life.gone = life.gone.filter(|batch| *batch <= durable_to);
            }
            lives.retain(|life| !life.versions.is_empty());
        }
        self.lives.retain(|_, lives| !lives.is_empty());
        for versions in self.sessions.values_mut() {
            versions.retain(|(batch, _)| *batch <= durable_to);
        }
    }

    fn last_mut(&mut self, id: InvocationId) -> Option<&mut Life> {
        self.lives.get_mut(&id)?.last_mut()
    }

    /// The last invocation of that id, removed or not.
    pub(crate) fn last(&self, id: InvocationId) -> Option<&Life> {
        self.lives.get(&id)?.last()
    }

    pub(crate) fn of(&self, id: InvocationId) -> impl DoubleEndedIterator<Item = &Life> {
        self.lives.get(&id).into_iter().flatten()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Life> {
        self.lives.values().flatten()
    }

    /// Invocations that are there now.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Life> {
        self.lives.values().filter_map(|lives| lives.last()).filter(|life| life.is_there())
    }

    pub(crate) fn len(&self) -> usize {
        self.lives.len()
    }

    /// Sessions that are there now.
    pub(crate) fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values().filter_map(|versions| versions.last()?.1.as_ref())
    }

    pub(crate) fn mark_seen(&mut self) {
        self.lives.values_mut().flatten().for_each(|life| life.fresh = false);
    }
}

fn parse(key: &[u8]) -> Option<(InvocationId, u8)> {
    let (id, part) = key.split_at_checked(16)?;
    Some((InvocationId::from_bytes(id)?, *part.first()?))
}

/// A row of an invocation, if a batch has it.
fn part_of(batch: &Batch, id: InvocationId, part: u8) -> Option<Vec<u8>> {
    let of_it =
        |write: &&Write| write.space == Space::Invocations && parse(&write.key) == Some((id, part));
    batch.writes.iter().find(of_it)?.value.clone()
}
