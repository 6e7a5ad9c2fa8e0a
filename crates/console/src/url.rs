//! Addresses of the console, from names that may hold anything.

use std::fmt::Write as _;

pub const ROOT: &str = "/console/";

/// One part of a path, or a name or value of a query.
#[must_use]
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            other => _ = write!(out, "%{other:02X}"),
        }
    }
    out
}

/// `/console/executions/order/o-1`
#[must_use]
pub fn path(parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().map(|part| encoded(part)).collect();
    format!("{ROOT}{}", parts.join("/"))
}

/// `?machine=order&status=FAILED`, without what is empty.
#[must_use]
pub fn query(pairs: &[(&str, &str)]) -> String {
    let given = pairs.iter().filter(|(_, value)| !value.is_empty());
    let pairs: Vec<String> =
        given.map(|(name, value)| format!("{}={}", encoded(name), encoded(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

#[must_use]
pub fn execution(machine: &str, name: &str) -> String {
    path(&["executions", machine, name])
}

#[must_use]
pub fn machine(name: &str) -> String {
    path(&["machines", name])
}

#[must_use]
pub fn function(name: &str) -> String {
    path(&["functions", name])
}

#[must_use]
pub fn invocation(id: &str) -> String {
    path(&["invocations", id])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_encoded() {
        assert_eq!(execution("a/b", "é?<x>"), "/console/executions/a%2Fb/%C3%A9%3F%3Cx%3E");
        assert_eq!(query(&[("a", ""), ("b", "c d"), ("e", "&=")]), "?b=c%20d&e=%26%3D");
        assert_eq!(query(&[("a", "")]), "");
    }
}
