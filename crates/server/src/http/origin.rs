//! Refuses requests of web pages. A browser sends what any page asks it to, also to a server on loopback that
//! needs no credentials, and names the page in `Origin`. SDKs and command lines send no `Origin`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::middleware::Next;
use axum::response::Response;

use super::handler::Gateway;

/// Refuses what a page of another origin sends.
pub(super) async fn guard(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.uri().authority().map(|authority| authority.as_str());
    match problem(request.headers(), host, gateway.on_loopback) {
        None => next.run(request).await,
        Some(problem) => super::handler::forbidden(problem),
    }
}

/// Why it is not answered, if so. `asked` is the host that the request line has, if it has one.
fn problem(headers: &HeaderMap, asked: Option<&str>, on_loopback: bool) -> Option<&'static str> {
    let origin = headers.get(ORIGIN)?;
    let host = asked.or_else(|| headers.get(HOST)?.to_str().ok()).unwrap_or_default();
    let page = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
    if !page.is_some_and(|page| page.eq_ignore_ascii_case(host)) {
        return Some(
            "requests of web pages are refused: the host of the header 'Origin' is not that of 'Host'",
        );
    }
    // A page's host can be made to point here after the page was loaded; an address cannot.
    (on_loopback && !is_own(host)).then_some(
        "requests of web pages are refused: the header 'Host' is neither localhost nor an address, and \
         this server listens on loopback only",
    )
}

/// `localhost:8083`, `127.0.0.1:8083`, `[::1]:8083`
fn is_own(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(origin: Option<&str>, host: &str, on_loopback: bool, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        let found = problem(&headers, None, on_loopback);
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            _ => panic!("{origin:?} {host}: {found:?}"),
        }
    }

    #[test]
    fn requests_without_an_origin_are_not_of_a_page() {
        check(None, "localhost:8083", true, None);
        check(None, "host.docker.internal:8083", true, None);
        check(None, "", false, None);
    }

    #[test]
    fn pages_of_others_are_refused() {
        let other = Some("is not that of 'Host'");
        check(Some("http://evil.example"), "localhost:8083", true, other);
        check(Some("http://localhost:3000"), "localhost:8083", true, other);
        check(Some("http://127.0.0.1:8083"), "localhost:8083", true, other);
        check(Some("null"), "localhost:8083", true, other);
        check(Some(""), "", true, other);
        check(Some("https://evil.example"), "states.example", false, other);
        check(Some("http://localhost:8083"), "localhost:8083", true, None);
        check(Some("http://LOCALHOST:8083"), "localhost:8083", true, None);
        check(Some("http://127.0.0.1:8083"), "127.0.0.1:8083", true, None);
        check(Some("http://[::1]:8083"), "[::1]:8083", true, None);
        check(Some("https://states.example"), "states.example", false, None);
    }

    #[test]
    fn names_that_were_made_to_point_here_are_refused() {
        let name = Some("neither localhost nor an address");
        check(Some("http://evil.example:8083"), "evil.example:8083", true, name);
        check(Some("http://localhost.evil.example"), "localhost.evil.example", true, name);
        check(Some("http://1.2.3.4.example"), "1.2.3.4.example", true, name);
    }

    #[test]
    fn the_request_line_wins_over_the_header() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "localhost".parse().unwrap());
        headers.insert(ORIGIN, "http://localhost".parse().unwrap());
        assert!(problem(&headers, Some("states.example"), false).is_some());
        assert_eq!(problem(&headers, Some("localhost"), true), None);
    }
}
