//! The digests that clients compare with their own.

use md5::{Digest, Md5};

use crate::message::{MessageAttribute, Value};

#[must_use]
pub fn md5(bytes: &[u8]) -> String {
    hex(&Md5::digest(bytes))
}

/// Of attributes sorted by name: name, type and value, each with its length before it. None if there are none.
#[must_use]
pub fn md5_of_attributes(attributes: &[MessageAttribute]) -> Option<String> {
    if attributes.is_empty() {
        return None;
    }
    let mut hash = Md5::new();
    let mut sorted: Vec<&MessageAttribute> = attributes.iter().collect();
    sorted.sort_by(|one, other| one.name.cmp(&other.name));
    for MessageAttribute { name, data_type, value } in sorted {
        let (kind, bytes) = match value {
            Value::Text(text) => (1, text.as_bytes()),
            Value::Binary(bytes) => (2, bytes.as_slice()),
        };
        add(&mut hash, name.as_bytes());
        add(&mut hash, data_type.as_bytes());
        hash.update([kind]);
        add(&mut hash, bytes);
    }
    Some(hex(&hash.finalize()))
}

fn add(hash: &mut Md5, bytes: &[u8]) {
    hash.update(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes());
    hash.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, value: &str) -> MessageAttribute {
        let value = Value::Text(value.to_owned());
        MessageAttribute { name: name.to_owned(), data_type: "String".to_owned(), value }
    }

    /// As the service computed them.
    #[test]
    fn recorded_digests() {
        assert_eq!(md5(b"msg"), "6e2baaf3b97dbeef01c0043275f9a0e7");
        let all = [text("Help.Me", "Me"), text("Hello", "There"), text("General", "Kenobi")];
        let check = |attributes: &[MessageAttribute], expected: &str| {
            assert_eq!(md5_of_attributes(attributes).as_deref(), Some(expected));
        };
        check(&all, "4c360f3fdafd970e05fae2f149d997f5");
        check(&all[1..], "fca026605781cb4126a1e9044df24232");
        check(&all[..2], "83fee93c1bcd8b9a5a923ffacdc636c7");
        check(&[text("Foo", "Bar")], "ae7155c6026991b6d54b11589678bf9c");
        let bytes = b"traceparent\x1e00-774062d6c37081a5a0b9b5b88e30627c-2d2482211f6489da-01";
        let binary = MessageAttribute {
            name: "attr1".to_owned(),
            data_type: "Binary".to_owned(),
            value: Value::Binary(bytes.to_vec()),
        };
        check(&[binary], "8cbe4db156db8a94db8b801b7addb984");
        assert_eq!(md5_of_attributes(&[]), None);
    }
}
