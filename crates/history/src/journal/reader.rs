//! Takes fields out of a record, and trusts nothing in it.

use std::sync::Arc;

use minicbor::Decoder;
use minicbor::data::Type;

use super::Error;
use super::field::Field;
use crate::Payload;

/// Bytes of the checksum.
pub(super) const CHECKSUM: usize = 4;

/// What stands before the checksum: the head of a string of so many bytes.
const CHECKSUM_HEAD: u8 = 0x40 | CHECKSUM as u8;

pub(super) struct Reader<'r> {
    pub(super) first_ms: i64,
    decoder: Decoder<'r>,
    payloads: Vec<Payload>,
    words: Vec<Arc<str>>,
}

impl<'r> Reader<'r> {
    /// Refuses a record that is not as it was written.
    pub(super) fn new(record: &'r [u8]) -> Result<Self, Error> {
        let damaged = |what: &str| Error::Damaged { what: what.to_owned(), at: record.len() };
        let (sealed, checksum) =
            record.split_last_chunk::<CHECKSUM>().ok_or_else(|| damaged("it is cut short"))?;
        if crc32fast::hash(sealed) != u32::from_be_bytes(*checksum) {
            return Err(damaged("the checksum does not match"));
        }
        let Some((&CHECKSUM_HEAD, items)) = sealed.split_last() else {
            return Err(damaged("it does not end with a checksum"));
        };
        let decoder = Decoder::new(items);
        Ok(Self { first_ms: 0, decoder, payloads: Vec::new(), words: Vec::new() })
    }

    pub(super) fn unsigned(&mut self) -> Result<u64, Error> {
        let read = self.decoder.u64();
        self.checked(read)
    }

    pub(super) fn signed(&mut self) -> Result<i64, Error> {
        let read = self.decoder.i64();
        self.checked(read)
    }

    pub(super) fn bool(&mut self) -> Result<bool, Error> {
        let read = self.decoder.bool();
        self.checked(read)
    }

    /// Passes over a null, if there is one.
    pub(super) fn is_null(&mut self) -> Result<bool, Error> {
        let is_null = self.kind()? == Type::Null;
        if is_null {
            self.decoder.set_position(self.decoder.position() + 1);
        }
        Ok(is_null)
    }

    /// The length of an array whose elements come next.
    pub(super) fn array(&mut self) -> Result<u64, Error> {
        let read = self.decoder.array();
        self.checked(read)?.ok_or_else(|| self.damaged("an array without a length"))
    }

    /// As many elements as the rest of the record can hold, if it claims to hold more.
    pub(super) fn bounded(&self, count: u64) -> usize {
        let left = self.decoder.input().len() - self.decoder.position();
        usize::try_from(count).unwrap_or(left).min(left)
    }

    pub(super) fn fields(&mut self) -> Result<Fields, Error> {
        Ok(Fields { left: self.array()? })
    }

    pub(super) fn payload(&mut self) -> Result<Payload, Error> {
        if self.kind()? != Type::String {
            let number = self.unsigned()?;
            return self.known(&self.payloads, number);
        }
        let text = self.text()?;
        let payload = Payload::from_stored(text)
            .map_err(|error| self.damaged(format!("a payload is not JSON ({error})")))?;
        self.payloads.push(payload.clone());
        Ok(payload)
    }

    /// A name or a message.
    pub(super) fn word(&mut self) -> Result<Arc<str>, Error> {
        if self.kind()? != Type::String {
            let number = self.unsigned()?;
            return self.known(&self.words, number);
        }
        let word: Arc<str> = self.text()?.into();
        self.words.push(word.clone());
        Ok(word)
    }

    fn text(&mut self) -> Result<&'r str, Error> {
        let read = self.decoder.str();
        self.checked(read)
    }

    fn known<T: Clone>(&self, known: &[T], number: u64) -> Result<T, Error> {
        let found = usize::try_from(number).ok().and_then(|number| known.get(number));
        found.cloned().ok_or_else(|| self.damaged(format!("text {number} was not seen before")))
    }

    fn kind(&self) -> Result<Type, Error> {
        self.checked(self.decoder.datatype())
    }

    fn checked<T>(&self, read: Result<T, minicbor::decode::Error>) -> Result<T, Error> {
        read.map_err(|error| {
            let at = error.position().unwrap_or(self.decoder.position());
            Error::Damaged { what: error.to_string(), at }
        })
    }

    pub(super) fn damaged(&self, what: impl Into<String>) -> Error {
        Error::Damaged { what: what.into(), at: self.decoder.position() }
    }

    pub(super) fn newer(&self, what: impl Into<String>) -> Error {
        Error::Newer { what: what.into(), at: self.decoder.position() }
    }

    /// Nothing may follow.
    pub(super) fn finish(&self) -> Result<(), Error> {
        if self.decoder.position() < self.decoder.input().len() {
            return Err(self.damaged("more than the events"));
        }
        Ok(())
    }
}

/// An array of fields that is being read.
pub(super) struct Fields {
    left: u64,
}

impl Fields {
    /// The number of what these are fields of.
    pub(super) fn kind(&mut self, reader: &mut Reader<'_>) -> Result<u64, Error> {
        self.left = self.left.checked_sub(1).ok_or_else(|| reader.damaged("an event is empty"))?;
        reader.unsigned()
    }

    pub(super) fn next<'e, T: Field<'e>>(
        &mut self,
        reader: &mut Reader<'_>,
        name: &str,
    ) -> Result<T, Error> {
        if self.left == 0 {
            let missing = || reader.damaged(format!("the field `{name}` is missing"));
            return T::absent(reader.first_ms).ok_or_else(missing);
        }
        self.left -= 1;
        T::read(reader)
    }

    /// A field more than are known was written by an engine that knows more.
    pub(super) fn end(self, reader: &Reader<'_>) -> Result<(), Error> {
        match self.left {
            0 => Ok(()),
            left => Err(reader.newer(format!("{left} unknown fields"))),
        }
    }
}
