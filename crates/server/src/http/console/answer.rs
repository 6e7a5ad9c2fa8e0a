//! Answers of the console: pages, redirects, files, each with the headers that keep a browser from doing more than it
//! should.

use axum::body::{Body, Bytes};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION,
    REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use everstep_console::assets::Asset;
use everstep_console::{Page, Site, document, pages};

use super::gzip;

/// Scripts and styles are files of this server, forms lead to it, and nobody may frame it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/// Why there is no page.
#[derive(Debug)]
pub(super) struct Failure {
    pub(super) status: StatusCode,
    pub(super) title: &'static str,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn new(status: StatusCode, title: &'static str, message: impl Into<String>) -> Self {
        Self { status, title, message: message.into() }
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "Not found", message)
    }

    pub(super) fn page(&self) -> Page {
        pages::message::page(self.title, &self.message, None)
    }
}

impl From<everstep_api::protocol::Error> for Failure {
    fn from(error: everstep_api::protocol::Error) -> Self {
        let status = match error.name() {
            "ThrottlingException" => StatusCode::TOO_MANY_REQUESTS,
            "ExecutionDoesNotExist" | "StateMachineDoesNotExist" => StatusCode::NOT_FOUND,
            _ => StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST),
        };
        Self::new(status, "Refused", format!("{}: {}", error.name(), error.message()))
    }
}

impl From<crate::functions::Refusal> for Failure {
    fn from(refusal: crate::functions::Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
        Self::new(status, "Refused", format!("{}: {}", refusal.name, refusal.message))
    }
}

/// With the headers that every answer has.
pub(super) fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

pub(super) fn page(status: StatusCode, page: &Page, site: &Site, headers: &HeaderMap) -> Response {
    let text = document(page, site);
    let mut response = text_answer(text.into(), "text/html; charset=utf-8", headers);
    *response.status_mut() = status;
    response
}

pub(super) fn asset(asset: &'static Asset, headers: &HeaderMap) -> Response {
    let text = Bytes::from_static(asset.text.as_bytes());
    let mut response = text_answer(text, asset.content_type, headers);
    let keep = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, keep);
    response
}

/// A value as a file. It is never shown as a page, whatever is in it.
pub(super) fn download(text: String, headers: &HeaderMap) -> Response {
    let mut response = text_answer(text.into(), "application/json", headers);
    let name = axum::http::header::CONTENT_DISPOSITION;
    response.headers_mut().insert(name, HeaderValue::from_static("attachment"));
    response
}

fn text_answer(text: Bytes, content_type: &'static str, headers: &HeaderMap) -> Response {
    let packed = gzip::is_accepted(headers).then(|| gzip::compressed(&text)).flatten();
    let is_packed = packed.is_some();
    let mut response = Response::new(Body::from(packed.unwrap_or(text)));
    let answer = response.headers_mut();
    answer.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    if is_packed {
        answer.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

/// To another page, after a POST.
pub(super) fn see_other(address: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let location = HeaderValue::from_str(address).unwrap_or(HeaderValue::from_static("/console/"));
    response.headers_mut().insert(LOCATION, location);
    response
}
