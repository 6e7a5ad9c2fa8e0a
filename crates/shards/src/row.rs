//! Records as rows: CBOR, with a format version before it where the record may change.

use minicbor::{Decode, Encode};

use crate::{Error, Result};

#[must_use]
pub fn encode<T: Encode<()>>(record: &T) -> Vec<u8> {
    write(Vec::new(), record)
}

/// # Errors
///
/// [`Error::Damaged`], which says that `what` cannot be read.
pub fn decode<'r, T: Decode<'r, ()>>(what: &str, row: &'r [u8]) -> Result<T> {
    minicbor::decode(row)
        .map_err(|error| Error::damaged(&format!("{what} cannot be read: {error}")))
}

/// The version, then the record.
#[must_use]
pub fn encode_versioned<T: Encode<()>>(version: u8, record: &T) -> Vec<u8> {
    write(vec![version], record)
}

/// # Errors
///
/// As [`decode`], and if the record has another version.
pub fn decode_versioned<'r, T: Decode<'r, ()>>(
    what: &str,
    version: u8,
    row: &'r [u8],
) -> Result<T> {
    match row.split_first() {
        Some((found, record)) if *found == version => decode(what, record),
        Some((found, _)) => Err(Error::damaged(&format!(
            "{what} has format {found}, and the newest known is {version}"
        ))),
        None => Err(Error::damaged(&format!("{what} is empty"))),
    }
}

fn write<T: Encode<()>>(mut bytes: Vec<u8>, record: &T) -> Vec<u8> {
    minicbor::encode(record, &mut bytes).expect("writing to memory cannot fail");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_read_is_named() {
        let row = encode_versioned(2, &7u32);
        assert_eq!(decode_versioned("a row", 2, &row), Ok(7u32));
        let text = |row: &[u8]| {
            let read = decode_versioned::<u32>("a row", 1, row);
            read.map_err(|error| error.to_string())
        };
        let damaged = |what: &str| Err(format!("the store is damaged: a row {what}"));
        assert_eq!(text(&row), damaged("has format 2, and the newest known is 1"));
        assert_eq!(text(&[]), damaged("is empty"));
        assert_eq!(text(&[1]), damaged("cannot be read: end of input bytes"));
    }
}
