//! Where a request goes.

use std::net::IpAddr;

use hyper::Uri;
use hyper::http::uri::Scheme;

use crate::Error;

pub(crate) struct Address {
    pub(crate) uri: Uri,
    pub(crate) encrypted: bool,
    /// As in the header: without the default port.
    pub(crate) host: String,
    /// For messages: without the query, which may hold secrets.
    pub(crate) shown: String,
}

const SCHEME: &str = "a URL begins with http:// or https://";

impl Address {
    /// If the host is not a name.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        let host = self.uri.host()?;
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.unwrap_or(host).parse().ok()
    }

    pub(crate) fn read(url: &str) -> Result<Self, Error> {
        // The query may hold secrets, and so may what stands before an `@`.
        let shown = url.split('?').next().unwrap_or_default();
        let shown = if shown.contains('@') { "a URL with an @" } else { shown };
        let wrong = |why: &str| Error::request(shown, why);
        if !url.contains("://") {
            return Err(wrong(SCHEME));
        }
        let uri: Uri = url.parse().map_err(|_| wrong("it is not a URL"))?;
        let encrypted = match uri.scheme() {
            Some(scheme) if *scheme == Scheme::HTTP => false,
            Some(scheme) if *scheme == Scheme::HTTPS => true,
            _ => return Err(wrong(SCHEME)),
        };
        let authority = uri.authority().map(|authority| authority.as_str()).unwrap_or_default();
        if authority.contains('@') {
            return Err(wrong("it must not hold a user or a password"));
        }
        let host = match uri.port_u16() {
            Some(port) if port != default_port(encrypted) => authority.to_owned(),
            _ => uri.host().unwrap_or_default().to_owned(),
        };
        if host.is_empty() {
            return Err(wrong("it has no host"));
        }
        let shown = shown.trim_end_matches('/').to_owned();
        Ok(Self { uri, encrypted, host, shown })
    }
}

fn default_port(encrypted: bool) -> u16 {
    if encrypted { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Result<(&str, &str), &str>) {
        let read = Address::read(url);
        let read = read.as_ref().map(|address| (&*address.host, &*address.shown));
        assert_eq!(read.map_err(ToString::to_string), expected.map_err(str::to_owned), "{url}");
    }

    #[test]
    fn hosts() {
        check("http://a.example", Ok(("a.example", "http://a.example")));
        check("http://a.example:80/", Ok(("a.example", "http://a.example:80")));
        check("https://a.example:80/b?token=c", Ok(("a.example:80", "https://a.example:80/b")));
        check("https://a.example:443", Ok(("a.example", "https://a.example:443")));
        check("http://[::1]:8083/", Ok(("[::1]:8083", "http://[::1]:8083")));
        check("HTTP://a", Ok(("a", "HTTP://a")));
    }

    #[test]
    fn invalid_addresses() {
        check("a.example", Err(&format!("a.example cannot be called: {SCHEME}")));
        check("ftp://a", Err(&format!("ftp://a cannot be called: {SCHEME}")));
        check("", Err(&format!(" cannot be called: {SCHEME}")));
        check("http://", Err("http:// cannot be called: it is not a URL"));
        check("http://a b", Err("http://a b cannot be called: it is not a URL"));
        let user = "a URL with an @ cannot be called: it must not hold a user or a password";
        check("http://me:secret@a", Err(user));
        check("http://me:secret@a b", Err("a URL with an @ cannot be called: it is not a URL"));
    }
}
