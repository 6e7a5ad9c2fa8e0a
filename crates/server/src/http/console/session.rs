//! Logins with an access key, and the sessions they begin. A session is kept in memory: after a restart one logs in
//! again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Body;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
use everstep_console::url;
use sha2::{Digest as _, Sha256};

use super::answer::{self, Failure};
use super::form::Form;
use super::view::Address;
use super::{actions, failed, login_page};
use crate::http::handler::Gateway;

const SESSION_MS: i64 = 12 * 60 * 60 * 1000;
const SESSIONS_MAX: usize = 1000;
/// Browsers accept this name only with `Secure`, for the whole server, and from no other one.
const COOKIE_NAME: &str = "__Host-everstep";
/// Failed logins in this time, from anybody.
const FAILURES_MAX: u32 = 10;
const FAILURES_MS: i64 = 60_000;

pub(super) struct NoSession;

#[derive(Default)]
pub(in crate::http) struct Sessions(Mutex<State>);

#[derive(Default)]
struct State {
    /// By the digest of what the cookie holds: who reads the memory cannot log in.
    open: HashMap<[u8; 32], Session>,
    failures: u32,
    failures_since_ms: i64,
}

struct Session {
    key_id: String,
    ends_ms: i64,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The access key of a request's session.
    pub(super) fn find(&self, headers: &HeaderMap, now_ms: i64) -> Option<String> {
        let token = token(headers)?;
        let state = self.lock();
        let session = state.open.get(&digest(token))?;
        (now_ms < session.ends_ms).then(|| session.key_id.clone())
    }

    /// Begins a session; what its cookie holds.
    fn begin(&self, key_id: &str, now_ms: i64) -> String {
        let token = format!("{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
        let mut state = self.lock();
        state.open.retain(|_, session| now_ms < session.ends_ms);
        if state.open.len() >= SESSIONS_MAX {
            let oldest = state.open.iter().min_by_key(|(_, session)| session.ends_ms);
            if let Some(oldest) = oldest.map(|(digest, _)| *digest) {
                state.open.remove(&oldest);
            }
        }
        let session = Session { key_id: key_id.to_owned(), ends_ms: now_ms + SESSION_MS };
        state.open.insert(digest(&token), session);
        token
    }

    pub(super) fn end(&self, headers: &HeaderMap) {
        if let Some(token) = token(headers) {
            self.lock().open.remove(&digest(token));
        }
    }

    /// Whether another login may be tried now.
    fn admits(&self, now_ms: i64) -> bool {
        let mut state = self.lock();
        if now_ms - state.failures_since_ms >= FAILURES_MS {
            (state.failures, state.failures_since_ms) = (0, now_ms);
        }
        state.failures < FAILURES_MAX
    }

    fn failed(&self) {
        self.lock().failures += 1;
    }
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs =
        cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.split_once('='));
    pairs.find(|(name, _)| name.trim() == COOKIE_NAME).map(|(_, value)| value.trim())
}

fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}

/// Asks for an access key, or takes one.
pub(super) async fn login(
    gateway: &Arc<Gateway>,
    request: Request<Body>,
    address: &Address,
) -> Response {
    let headers = request.headers().clone();
    if let Some(obstacle) = gateway.login_obstacle() {
        let failure = Failure::new(StatusCode::FORBIDDEN, "No login here", obstacle);
        return failed(gateway, &failure, &headers, None);
    }
    if request.method() != Method::POST {
        return login_page(gateway, own_page(address.query.text("next")), None, &headers);
    }
    let form = match actions::form(gateway, request).await {
        Ok(form) => form,
        Err(failure) => return failed(gateway, &failure, &headers, None),
    };
    attempt(gateway, &form, &headers)
}

fn attempt(gateway: &Gateway, form: &Form, headers: &HeaderMap) -> Response {
    let (now_ms, next) = (gateway.service.now_ms(), own_page(form.text("next")));
    let (id, secret) = (form.text("id"), form.text("secret"));
    if !gateway.sessions.admits(now_ms) {
        let refused = "Too many failed logins: wait a minute.";
        return login_page(gateway, next, Some(refused), headers);
    }
    if !gateway.keys.is_pair(id, secret) {
        gateway.sessions.failed();
        gateway.log(&format!("console: a login as {} was refused", named(id)));
        let refused = "Unknown access key, or another secret.";
        return login_page(gateway, next, Some(refused), headers);
    }
    gateway.log(&format!("console: {id} logged in"));
    let token = gateway.sessions.begin(id, now_ms);
    let mut response = answer::see_other(next);
    set_cookie(&mut response, &token, SESSION_MS / 1000);
    response
}

/// Only what can be an id is repeated in a log.
fn named(id: &str) -> &str {
    let is_plain =
        id.len() <= 128 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if is_plain { id } else { "something that is no key id" }
}

pub(super) fn set_cookie(response: &mut Response, token: &str, seconds: i64) {
    let cookie = format!(
        "{COOKIE_NAME}={token}; Path=/; Max-Age={seconds}; Secure; HttpOnly; SameSite=Strict"
    );
    if let Ok(value) = HeaderValue::from_str(&cookie) {
        response.headers_mut().insert(SET_COOKIE, value);
    }
}

/// A page of the console: an address of anybody else is not followed.
fn own_page(next: &str) -> &str {
    let is_plain = next.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    if is_plain && next.starts_with(url::ROOT) { next } else { url::ROOT }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_cookie(text: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(COOKIE, text.parse().expect("a header"));
        headers
    }

    #[test]
    fn a_session_lasts_for_its_time() {
        let sessions = Sessions::default();
        let token = sessions.begin("ME", 0);
        let headers = with_cookie(&format!("a=b; {COOKIE_NAME}={token}"));
        assert_eq!(sessions.find(&headers, SESSION_MS - 1).as_deref(), Some("ME"));
        assert_eq!(sessions.find(&headers, SESSION_MS), None);
        assert_eq!(sessions.find(&with_cookie(&format!("{COOKIE_NAME}=guess")), 0), None);
        assert_eq!(sessions.find(&HeaderMap::new(), 0), None);
        sessions.end(&headers);
        assert_eq!(sessions.find(&headers, 0), None);
    }

    #[test]
    fn no_two_sessions_share_a_token() {
        let sessions = Sessions::default();
        assert_ne!(sessions.begin("ME", 0), sessions.begin("ME", 0));
    }

    #[test]
    fn there_are_only_so_many() {
        let sessions = Sessions::default();
        let first = sessions.begin("ME", 0);
        (1..=SESSIONS_MAX).for_each(|at| _ = sessions.begin("ME", at as i64));
        assert_eq!(sessions.lock().open.len(), SESSIONS_MAX);
        assert_eq!(sessions.find(&with_cookie(&format!("{COOKIE_NAME}={first}")), 5), None);
    }

    #[test]
    fn guessing_is_slow() {
        let sessions = Sessions::default();
        for _ in 0..FAILURES_MAX {
            assert!(sessions.admits(0));
            sessions.failed();
        }
        assert!(!sessions.admits(FAILURES_MS - 1));
        assert!(sessions.admits(FAILURES_MS));
    }

    #[test]
    fn a_login_leads_to_the_console_only() {
        let check = |next: &str, expected: &str| assert_eq!(own_page(next), expected, "{next}");
        check("/console/machines?a=b", "/console/machines?a=b");
        for foreign in [
            "https://evil.example",
            "//evil.example",
            "/console",
            "",
            "/console/\r\nX: y",
            "/console/\\x",
        ] {
            check(foreign, url::ROOT);
        }
    }
}
