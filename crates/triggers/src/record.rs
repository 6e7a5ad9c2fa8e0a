//! The rows of a trigger, beside the invocations that it has started.
//!
//! | key | value |
//! |---|---|
//! | 0 | the record: how far it has come |
//! | 1, invocation | an item that was accepted and whose end is not noted |

use std::collections::VecDeque;

use everstep_invocations::{InvocationId, Note};
use everstep_shards::{Error, Result, row};
use minicbor::{Decode, Encode};

use crate::item::Outcome;
use crate::timer::Clockwork;

const RECORD: u8 = 0;
const FLIGHT: u8 = 1;

const VERSION: u8 = 1;

/// Ends that are remembered.
const LAST_MAX: usize = 10;

/// How far a trigger has come.
#[derive(Debug, Clone, Default, PartialEq, Encode, Decode)]
pub struct Record {
    /// By hand.
    #[n(0)]
    pub paused: bool,
    /// Of a timer.
    #[n(1)]
    pub(crate) clockwork: Option<Clockwork>,
    /// How far the source has been read: what is before it is accepted.
    #[n(2)]
    pub position: Option<String>,
    /// How far it is done: what is before it is over.
    #[n(3)]
    pub cursor: Option<String>,
    /// The number of the next item.
    #[n(4)]
    pub(crate) next_number: u64,
    #[n(5)]
    pub counters: Counters,
    /// The last ends, latest last.
    #[n(6)]
    pub last: VecDeque<Last>,
}

/// What has become of items. Of those that were accepted each is in one of the first four, or in flight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub struct Counters {
    #[n(0)]
    pub succeeded: u64,
    #[n(1)]
    pub failed: u64,
    #[n(2)]
    pub cancelled: u64,
    /// Nothing was stored of them any more when somebody looked.
    #[n(3)]
    pub unknown: u64,
    /// Of those that failed.
    #[n(4)]
    pub dead_lettered: u64,
    /// Brought again, and known. A crash may lose some of this count.
    #[n(5)]
    pub duplicates: u64,
    /// Ticks that ran together with another.
    #[n(6)]
    pub coalesced: u64,
    /// Ticks that did not run.
    #[n(7)]
    pub skipped: u64,
    /// Brought, and not accepted. A crash may lose some of this count.
    #[n(8)]
    pub refused: u64,
}

/// How an item has ended.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Last {
    #[n(0)]
    pub item: String,
    #[n(1)]
    pub invocation: InvocationId,
    /// The outcome's name.
    #[n(2)]
    pub outcome: String,
    #[n(3)]
    pub error: Option<String>,
    #[n(4)]
    pub ended_ms: i64,
}

/// An item that was accepted and whose end is not noted.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Flight {
    /// In the order of acceptance.
    #[n(0)]
    pub(crate) number: u64,
    #[n(1)]
    pub item: String,
    /// How far the source had been read before it.
    #[n(2)]
    pub(crate) before: Option<String>,
    #[n(3)]
    pub accepted_ms: i64,
    /// It has failed for good, and nothing follows until somebody resumes the trigger.
    #[n(4)]
    pub(crate) is_blocked: bool,
}

/// What the store has of a trigger.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Stored {
    pub record: Option<Record>,
    pub flights: Vec<(InvocationId, Flight)>,
}

impl Counters {
    /// All that were accepted, and are not in flight.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.succeeded + self.failed + self.cancelled + self.unknown
    }
}

impl Record {
    pub(crate) fn note(&self) -> Note {
        Note { key: vec![RECORD], value: Some(row::encode_versioned(VERSION, self)) }
    }

    /// The record of a trigger, if that is what a note is.
    ///
    /// # Errors
    ///
    /// If it cannot be read.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Option<Self>> {
        if key != [RECORD] {
            return Ok(None);
        }
        row::decode_versioned("the record of a trigger", VERSION, value).map(Some)
    }

    pub(crate) fn remember(
        &mut self,
        flight: &Flight,
        id: InvocationId,
        outcome: &Outcome,
        at_ms: i64,
    ) {
        let error = match outcome {
            Outcome::Failed { error } => Some(error.clone()),
            _ => None,
        };
        let (item, outcome) = (flight.item.clone(), outcome.name().to_owned());
        self.last.push_back(Last { item, invocation: id, outcome, error, ended_ms: at_ms });
        while self.last.len() > LAST_MAX {
            self.last.pop_front();
        }
    }
}

impl Flight {
    pub(crate) fn note(&self, id: InvocationId) -> Note {
        Note { key: key(id), value: Some(row::encode_versioned(VERSION, self)) }
    }

    pub(crate) fn removal(id: InvocationId) -> Note {
        Note { key: key(id), value: None }
    }
}

fn key(id: InvocationId) -> Vec<u8> {
    [&[FLIGHT], id.bytes().as_slice()].concat()
}

impl Stored {
    /// # Errors
    ///
    /// If a note cannot be read.
    pub fn read(notes: &[(Vec<u8>, Vec<u8>)]) -> Result<Self> {
        let mut stored = Self::default();
        for (key, value) in notes {
            match key.split_first() {
                Some((&RECORD, [])) => stored.record = Record::decode(key, value)?,
                Some((&FLIGHT, id)) => {
                    let unreadable =
                        || Error::damaged("the key of an item in flight cannot be read");
                    let id = InvocationId::from_bytes(id).ok_or_else(unreadable)?;
                    let flight = row::decode_versioned("an item in flight", VERSION, value)?;
                    stored.flights.push((id, flight));
                }
                _ => return Err(Error::damaged("a note of a trigger has an unknown key")),
            }
        }
        Ok(stored)
    }
}
