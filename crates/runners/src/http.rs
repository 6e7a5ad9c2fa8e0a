//! Services behind a URL: JSON is posted, and JSON comes back.

use std::time::{Duration, SystemTime};

use everstep_client::{
    Client, HeaderMap, HeaderName, HeaderValue, Kind, Method, Request, Response,
};
use everstep_retry::Class;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, RETRY_AFTER};
use serde_json::{Value, json};

use crate::call::Call;
use crate::error::{Error, check_json};

/// Of a body that explains an error.
const BODY_BYTES_MAX: usize = 4 << 10;

/// Where to post, and for how long to wait.
pub(crate) struct Service<'a> {
    pub(crate) url: &'a str,
    /// The URL as it may be shown.
    pub(crate) shown: &'a str,
    pub(crate) headers: &'a [(String, String)],
    pub(crate) timeout_ms: u64,
}

pub(crate) async fn post(
    client: &Client,
    service: &Service<'_>,
    call: Call,
) -> Result<Bytes, Box<Error>> {
    let clean = |text: &str| with_urls_as(service.shown, text);
    let request = request(service, &call).map_err(|why| socket_error(&clean(&why)))?;
    match client.send(request).await {
        Ok(response) => result(response, &call),
        Err(error) => Err(Box::new(match error.kind() {
            Kind::TimedOut => Error::timed_out(&call.request_id, service.timeout_ms),
            Kind::TooLong => Error::too_large(),
            Kind::Refused => forbidden(&clean(&error.to_string())),
            _ => socket_error(&clean(&error.to_string())),
        })),
    }
}

fn request(service: &Service<'_>, call: &Call) -> Result<Request, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let attempt = call.attempt.to_string();
    let about = [("x-everstep-request-id", &*call.request_id), ("x-everstep-attempt", &attempt)];
    let own = service.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in about.into_iter().chain(own) {
        let wrong = || format!("the header '{name}' cannot be sent");
        let header = HeaderName::try_from(name).map_err(|_| wrong())?;
        headers.insert(header, HeaderValue::try_from(value).map_err(|_| wrong())?);
    }
    let timeout = Duration::from_millis(service.timeout_ms);
    let mut request = Request::new(Method::POST, service.url).body(call.payload.clone());
    request.headers = headers;
    Ok(request.timeout(timeout))
}

/// A URL may have a secret in it.
fn with_urls_as(shown: &str, text: &str) -> String {
    let word = |word| if str::contains(word, "://") { shown } else { word };
    text.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Another attempt would be refused too.
fn forbidden(why: &str) -> Error {
    let error = Error::new("States.Permissions", Class::User, why.to_owned());
    Error { permanent: true, ..error }
}

/// Whether anything was done is not known.
fn socket_error(why: &str) -> Error {
    Error::new("States.Http.Socket", Class::Runtime, why.to_owned())
}

fn result(response: Response, call: &Call) -> Result<Bytes, Box<Error>> {
    if !response.status.is_success() {
        return Err(refused(&response).into());
    }
    if response.body.trim_ascii().is_empty() {
        return Ok(Bytes::from_static(b"null"));
    }
    match check_json(&response.body) {
        Ok(()) => Ok(response.body),
        Err(why) => Err(Error::invalid_response(&call.request_id, &why).into()),
    }
}

/// What is the caller's fault is an error of the code, what may pass is the runtime's.
fn refused(response: &Response) -> Error {
    let status = response.status;
    let passing = matches!(status.as_u16(), 408 | 425 | 429) || status.is_server_error();
    let retry_after_ms = retry_after_ms(&response.headers, SystemTime::now());
    let mut payload = json!({
        "errorType": format!("States.Http.StatusCode.{}", status.as_u16()),
        "errorMessage": status.to_string(),
        "statusCode": status.as_u16(),
        "body": body(&response.body),
    });
    if let Some(ms) = retry_after_ms {
        payload["retryAfterMs"] = json!(ms);
    }
    let class = if passing { Class::Runtime } else { Class::User };
    Error { retry_after_ms, permanent: !passing, ..Error::of(payload, class) }
}

fn body(bytes: &[u8]) -> Value {
    if bytes.len() <= BODY_BYTES_MAX
        && let Ok(value) = serde_json::from_slice(bytes)
    {
        return value;
    }
    json!(String::from_utf8_lossy(&bytes[..bytes.len().min(BODY_BYTES_MAX)]))
}

/// `Retry-After` has seconds, or a moment.
fn retry_after_ms(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(seconds.saturating_mul(1000));
    }
    let moment = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
    let wait = SystemTime::from(moment).duration_since(now).unwrap_or_default();
    u64::try_from(wait.as_millis()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<u64>) {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, text.parse().unwrap());
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_480);
        assert_eq!(retry_after_ms(&headers, now), expected, "{text}");
    }

    #[test]
    fn services_say_when_to_come_again() {
        check("120", Some(120_000));
        check("Wed, 21 Oct 2015 07:30:00 GMT", Some(120_000));
        check("Wed, 21 Oct 2015 07:00:00 GMT", Some(0));
        check("soon", None);
        check("-1", None);
    }
}
