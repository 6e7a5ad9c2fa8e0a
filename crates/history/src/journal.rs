//! Records of a journal: all that happened in one step, as bytes.
//!
//! A record is a sequence of CBOR items:
//!
//! 1. the version of the format;
//! 2. the time of the first event, from which all times in the record are differences;
//! 3. an array of events, each an array of the kind's number and the fields of [`table`];
//! 4. four bytes: the CRC-32 of everything before them. Every version ends so.
//!
//! Fields at an event's end that have nothing to say (no value, zero, the first time) are left
//! out. A payload, a name or a message is written where it first occurs, as text, and after that
//! as the number of those that came before it. What stores do with records is not known here.

mod field;
mod reader;
mod table;
#[cfg(test)]
mod tests;
mod writer;

use std::fmt;

use crate::Event;
use reader::Reader;
use writer::Writer;

/// The version that is written, and the newest that is read.
const VERSION: u64 = 1;

/// One record of all these events.
#[must_use]
pub fn encode(events: &[Event]) -> Vec<u8> {
    let mut writer = Writer::new(events.first().map_or(0, Event::at_ms));
    writer.unsigned(VERSION);
    writer.signed(writer.first_ms);
    writer.array(events.len());
    for event in events {
        table::write(&mut writer, event);
    }
    writer.finish()
}

/// The events of a record that [`encode`] made, in this version or an earlier one.
pub fn decode(record: &[u8]) -> Result<Vec<Event>, Error> {
    let mut reader = Reader::new(record)?;
    let version = reader.unsigned()?;
    if version != VERSION {
        return Err(Error::UnknownVersion { found: version, known: VERSION });
    }
    reader.first_ms = reader.signed()?;
    let count = reader.array()?;
    let mut events = Vec::with_capacity(reader.bounded(count));
    for _ in 0..count {
        events.push(table::read(&mut reader)?);
    }
    reader.finish()?;
    Ok(events)
}

/// Why a record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// The record's form is another one.
    UnknownVersion { found: u64, known: u64 },
    /// The form is known, but something in it is not.
    Newer { what: String, at: usize },
    /// These are not the bytes that were written.
    Damaged { what: String, at: usize },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion { found, known } => write!(
                f,
                "the journal record has format version {found} and this everstep reads up to \
                 {known}: use the everstep that wrote it"
            ),
            Self::Newer { what, at } => write!(
                f,
                "the journal record was written by a newer everstep: {what} at byte {at}; use \
                 that version or a later one"
            ),
            Self::Damaged { what, at } => write!(
                f,
                "the journal record is damaged: {what} at byte {at}; restore it from a backup"
            ),
        }
    }
}

impl std::error::Error for Error {}
