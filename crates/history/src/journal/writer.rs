//! Puts fields into a record.

use std::collections::HashMap;

use minicbor::Encoder;

use super::field::Field;
use crate::Payload;

pub(super) struct Writer<'e> {
    pub(super) first_ms: i64,
    encoder: Encoder<Vec<u8>>,
    payloads: HashMap<usize, u64>,
    /// Payloads that are not the same in memory may still have the same text.
    payload_texts: HashMap<&'e str, u64>,
    words: HashMap<&'e str, u64>,
}

/// Writing to memory cannot fail.
const WRITTEN: &str = "memory takes any bytes";

impl<'e> Writer<'e> {
    pub(super) fn new(first_ms: i64) -> Self {
        Self {
            first_ms,
            encoder: Encoder::new(Vec::new()),
            payloads: HashMap::new(),
            payload_texts: HashMap::new(),
            words: HashMap::new(),
        }
    }

    pub(super) fn unsigned(&mut self, number: u64) {
        self.encoder.u64(number).expect(WRITTEN);
    }

    pub(super) fn signed(&mut self, number: i64) {
        self.encoder.i64(number).expect(WRITTEN);
    }

    pub(super) fn bool(&mut self, bool: bool) {
        self.encoder.bool(bool).expect(WRITTEN);
    }

    pub(super) fn null(&mut self) {
        self.encoder.null().expect(WRITTEN);
    }

    pub(super) fn array(&mut self, length: usize) {
        self.encoder.array(length as u64).expect(WRITTEN);
    }

    /// An array of fields, after the number of what they are fields of.
    pub(super) fn fields(&mut self, kind: Option<u64>, fields: &[&'e dyn Field<'e>]) {
        let said = fields.iter().rposition(|field| !field.is_absent(self.first_ms));
        let said = said.map_or(0, |last| last + 1);
        self.array(said + usize::from(kind.is_some()));
        if let Some(kind) = kind {
            self.unsigned(kind);
        }
        for field in &fields[..said] {
            field.write(self);
        }
    }

    pub(super) fn payload(&mut self, payload: &'e Payload) {
        if let Some(number) = self.payloads.get(&payload.address()) {
            return self.unsigned(*number);
        }
        let number = self.text(payload.as_text(), |writer| &mut writer.payload_texts);
        self.payloads.insert(payload.address(), number);
    }

    /// A name or a message.
    pub(super) fn word(&mut self, word: &'e str) {
        self.text(word, |writer| &mut writer.words);
    }

    /// A text if it is new, else the number it got then.
    fn text(&mut self, text: &'e str, known: fn(&mut Self) -> &mut HashMap<&'e str, u64>) -> u64 {
        let next = known(self).len() as u64;
        let number = *known(self).entry(text).or_insert(next);
        if number == next {
            self.encoder.str(text).expect(WRITTEN);
        } else {
            self.unsigned(number);
        }
        number
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        self.encoder.bytes_len(super::reader::CHECKSUM as u64).expect(WRITTEN);
        let mut record = self.encoder.into_writer();
        let checksum = crc32fast::hash(&record);
        record.extend(checksum.to_be_bytes());
        record
    }
}
