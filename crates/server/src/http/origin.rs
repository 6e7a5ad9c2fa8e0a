//! Refuses requests of web pages. A browser sends what any page asks it to, also to a server on loopback that
//! needs no credentials. It names the page in `Origin`, except for some requests, and always names the host that the
//! page asked for: a page whose own name was made to point here (DNS rebinding) still has that name in `Host`.
//!
//! SDKs and command lines send no `Origin`, and the host of the endpoint that they were given.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::Response;

use super::handler::Gateway;

/// Names of this machine that nobody can register. The last two are what containers call their host.
const OWN: [&str; 3] = ["localhost", "host.docker.internal", "host.containers.internal"];

/// The hosts that requests may be for.
pub(super) struct Hosts {
    pub(super) on_loopback: bool,
    /// Requests are signed, and no web page can do that.
    pub(super) signed: bool,
    /// Names besides those of this machine.
    pub(super) allowed: Vec<String>,
}

/// Refuses what a page of another origin sends.
pub(super) async fn guard(
    State(gateway): State<Arc<Gateway>>,
    request: Request,
    next: Next,
) -> Response {
    let host = request.uri().authority().map(|authority| authority.as_str());
    // Pages are asked for without a signature, also if there are access keys.
    let path = request.uri().path();
    let is_page = super::console::is_path(path) || path == "/" && request.method() == Method::GET;
    match gateway.hosts.problem(request.headers(), host, is_page) {
        None => next.run(request).await,
        Some(problem) => super::handler::forbidden(&problem),
    }
}

impl Hosts {
    /// Why it is not answered, if so. `asked` is the host that the request line has, if it has one.
    fn problem(&self, headers: &HeaderMap, asked: Option<&str>, is_page: bool) -> Option<String> {
        let named = || Some(headers.get(HOST)?.to_str().unwrap_or_default());
        let host = asked.or_else(named);
        let Some(origin) = headers.get(ORIGIN) else {
            // Old clients name no host. Browsers do.
            let checked = self.on_loopback && (is_page || !self.signed);
            return host.filter(|host| checked && !self.is_own(host)).map(foreign);
        };
        let host = host.unwrap_or_default();
        let page = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
        if !page.is_some_and(|page| page.eq_ignore_ascii_case(host)) {
            return Some(
                "requests of web pages are refused: the host of the header 'Origin' is not that of 'Host'"
                    .to_owned(),
            );
        }
        (self.on_loopback && !self.is_own(host)).then(|| foreign(host))
    }

    /// `localhost:8083`, `127.0.0.1:8083`, `[::1]:8083`, `sync-localhost`. A page cannot make an address point here.
    fn is_own(&self, host: &str) -> bool {
        let name = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        // SDKs add this to the host of two operations.
        let name = name.strip_prefix("sync-").unwrap_or(name);
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        let is = |known: &str| known.eq_ignore_ascii_case(name);
        address.unwrap_or(name).parse::<IpAddr>().is_ok()
            || OWN.iter().copied().any(is)
            || name.rsplit_once('.').is_some_and(|(_, last)| last.eq_ignore_ascii_case("localhost"))
            || is_service(name)
            || self.allowed.iter().any(|allowed| is(allowed))
    }
}

/// `states.us-east-1.amazonaws.com`: what SDKs ask for if they are given this server as a proxy. Only the services
/// themselves have these names.
fn is_service(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let region = name.strip_suffix(".amazonaws.com").and_then(|name| name.split_once('.'));
    region.is_some_and(|(service, region)| {
        matches!(service, "states" | "lambda" | "sqs") && !region.contains('.')
    })
}

fn foreign(host: &str) -> String {
    let host: String = host.chars().filter(|letter| !letter.is_control()).take(100).collect();
    format!(
        "the host '{host}' is not one of this server, which listens on loopback and needs no credentials: a web page \
         may have sent this. Use http://localhost or an address, or start the server with --allow-host NAME"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(on_loopback: bool) -> Hosts {
        Hosts { on_loopback, signed: false, allowed: vec!["states.internal".to_owned()] }
    }

    fn check(origin: Option<&str>, host: &str, on_loopback: bool, expected: Option<&str>) {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, origin.parse().unwrap());
        }
        let found = hosts(on_loopback).problem(&headers, None, false);
        match (&found, expected) {
            (None, None) => {}
            (Some(found), Some(expected)) => assert!(found.contains(expected), "{found}"),
            _ => panic!("{origin:?} {host}: {found:?}"),
        }
    }

    #[test]
    fn clients_name_this_machine() {
        let ours = "localhost localhost:8083 LOCALHOST:8083 127.0.0.1 127.0.0.2:8083 [::1]:8083 sync-localhost:8083 \
                    sync-127.0.0.1:8083 states.localhost:8083 host.docker.internal:8083 states.internal States.Internal:80 \
                    sync-states.internal states.us-east-1.amazonaws.com sync-states.us-east-1.amazonaws.com";
        for host in ours.split_whitespace() {
            check(None, host, true, None);
        }
        let others = "evil.example evil.example:8083 sync-evil.example localhost.evil.example 1.2.3.4.example \
                      notlocalhost states.internal.evil.example sync- ec2-1-2-3-4.compute-1.amazonaws.com \
                      states.us-east-1.amazonaws.com.evil.example";
        for host in others.split_whitespace() {
            check(None, host, true, Some("is not one of this server"));
            check(None, host, false, None);
        }
        check(None, "", true, Some("is not one of this server"));
    }

    #[test]
    fn old_clients_name_no_host() {
        assert_eq!(hosts(true).problem(&HeaderMap::new(), None, false), None);
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, "http://evil.example".parse().unwrap());
        assert!(hosts(true).problem(&headers, None, false).is_some());
    }

    /// It may be behind a proxy that has a name.
    #[test]
    fn signed_requests_may_be_for_any_host() {
        let signed = Hosts { signed: true, ..hosts(true) };
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "states.example".parse().unwrap());
        assert_eq!(signed.problem(&headers, None, false), None);
        // Pages are not signed.
        assert!(signed.problem(&headers, None, true).is_some());
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
        let name = Some("is not one of this server");
        check(Some("http://evil.example:8083"), "evil.example:8083", true, name);
        check(Some("http://localhost.evil.example"), "localhost.evil.example", true, name);
        check(Some("http://1.2.3.4.example"), "1.2.3.4.example", true, name);
    }

    #[test]
    fn the_request_line_wins_over_the_header() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "localhost".parse().unwrap());
        headers.insert(ORIGIN, "http://localhost".parse().unwrap());
        assert!(hosts(false).problem(&headers, Some("states.example"), false).is_some());
        assert_eq!(hosts(true).problem(&headers, Some("localhost"), false), None);
    }
}
