//! URLs, as far as they can be checked before anything is called.

/// Whether a text is a URL that can be called; otherwise what to change.
pub fn check_url(text: &str) -> Result<(), &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let rest = rest.ok_or("begin it with http:// or https://")?;
    if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err("a URL has no spaces: write a space as %20");
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("the `[` of its address is not closed")?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    if name.is_empty() {
        return Err("a host follows the slashes: http://localhost:9000/path");
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Ok(()),
        Some(port) if port.parse::<u16>().is_ok_and(|port| port > 0) => Ok(()),
        _ => Err("a port is a number from 1 to 65535"),
    }
}

#[cfg(test)]
mod tests {
    use super::check_url as url;

    fn check(text: &str, expected: Result<(), &str>) {
        let seen = url(text);
        let alike = match (seen, expected) {
            (Err(seen), Err(expected)) => seen.contains(expected),
            (seen, expected) => seen == expected,
        };
        assert!(alike, "{text}: {seen:?}");
    }

    #[test]
    fn urls() {
        for good in [
            "http://localhost:9000/page",
            "https://user:pa:ss@host/x?y=http://z",
            "http://[::1]:80/",
            "http://[::1]",
            "https://host?query",
            "http://under_score/ü",
        ] {
            check(good, Ok(()));
        }
        check("ftp://host", Err("begin it with"));
        check("localhost:9000", Err("begin it with"));
        check("http://", Err("host"));
        check("http:///path", Err("host"));
        check("http://:80/", Err("host"));
        check("http://user@/", Err("host"));
        check("http://my host/", Err("spaces"));
        check("http://host\n", Err("spaces"));
        check("http://host:99999/", Err("port"));
        check("http://host:/", Err("port"));
        check("http://host:http/", Err("port"));
        check("http://[::1/", Err("closed"));
        check("http://[::1]x/", Err("port"));
    }
}
