//! Journal records: whatever the bytes, they are read or refused, and what is read is recorded
//! again as it was. Payloads are judged as parsing judges them.

#![no_main]

use everstep_history::{Payload, journal};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        let parsed = serde_json::from_str::<Value>(text).ok();
        let payload = Payload::from_text(text).ok();
        assert_eq!(payload.map(Payload::into_value), parsed);
    }
    drop(journal::decode(data));
    // A checksum that matches, or nothing would come past it.
    let mut record = [data, &[0x44]].concat();
    let checksum = crc32fast::hash(&record);
    record.extend(checksum.to_be_bytes());
    if let Ok(events) = journal::decode(&record) {
        let again = journal::encode(&events);
        assert_eq!(journal::decode(&again), Ok(events));
    }
});
