//! Requests to `/triggers/NAME`: who may send them, and which items they bring.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use everstep_config::model::{Encoding, Format, Http, Signature};
use everstep_triggers::{Item, Refused, Settled};
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use super::Live;
use crate::functions::Refusal;

/// Bytes of what a request is repeated with.
const KEY_BYTES_MAX: usize = 256;

/// What has come.
pub(crate) struct Arrived<'r> {
    pub(crate) headers: &'r HeaderMap,
    pub(crate) query: &'r str,
    pub(crate) body: &'r [u8],
}

/// What a request brings.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// Event Grid asks whether its events are wanted.
    Handshake {
        code: String,
    },
    Items(Vec<Item>),
}

/// What a request is answered.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Live {
    /// The settings of its requests; none if the trigger takes none.
    pub(crate) fn http(&self) -> Option<&Http> {
        self.planned.http()
    }

    /// Takes a request, once it is known to be allowed. Answered when all that it brings is durable.
    pub(crate) async fn request(&self, given: Given) -> Result<Answer, Refusal> {
        let items = match given {
            Given::Handshake { code } => {
                return Ok(Answer { status: 200, body: json!({ "validationResponse": code }) });
            }
            Given::Items(items) => items,
        };
        let is_single = items.len() == 1;
        // All are offered before the first is answered, so that they share a commit.
        let offers: Vec<_> = items.into_iter().map(|item| self.offer_later(item)).collect();
        let mut accepted = Vec::new();
        for offer in offers {
            let stopped =
                || Refusal::new(503, "ServiceUnavailable", "the trigger is being stopped");
            match offer.await.map_err(|_| stopped())? {
                Settled::Accepted { id, known } => {
                    accepted.push(json!({ "invocationId": id.to_string(), "duplicate": known }));
                }
                Settled::Refused(why) => return Err(refusal(&why)),
                Settled::Completed(_) => return Err(stopped()),
            }
        }
        let body = match is_single {
            true => accepted.remove(0),
            false => json!({ "invocations": accepted }),
        };
        Ok(Answer { status: 202, body })
    }
}

pub(super) fn refusal(why: &Refused) -> Refusal {
    match why {
        Refused::Full => Refusal::new(
            429,
            "TooManyRequestsException",
            "too many events of this trigger are not over: retry later, or raise its maxBacklog",
        ),
        Refused::Stopped => Refusal::new(503, "ServiceUnavailable", "the trigger is paused"),
        Refused::TooLarge { bytes, most } => {
            let message = format!("the event has {bytes} bytes, and may have {most}");
            Refusal::new(413, "RequestTooLargeException", message)
        }
        Refused::NeedsPayload => {
            Refusal::new(400, "ValidationException", "this trigger needs an event: give a payload")
        }
        Refused::ByEngine(why) => Refusal::new(503, "ServiceUnavailable", why.as_str()),
    }
}

/// Checks what a trigger demands. In constant time: the time of an answer says nothing about a secret.
pub(crate) fn check(http: &Http, arrived: &Arrived<'_>) -> Result<(), Refusal> {
    let denied = |message: &str| Err(Refusal::new(401, "UnauthorizedException", message));
    if let Some(secret) = &http.secret
        && !brings(secret.as_str(), arrived)
    {
        return denied(
            "the secret is missing or wrong: send it as 'Authorization: Bearer SECRET', 'X-Everstep-Secret', or '?code='",
        );
    }
    if let Some(signature) = &http.signature
        && !is_signed(signature, arrived)
    {
        let header = &signature.header;
        return denied(&format!("the signature in the header '{header}' is missing or wrong"));
    }
    Ok(())
}

fn brings(secret: &str, arrived: &Arrived<'_>) -> bool {
    let text = |name: &str| arrived.headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let code = arrived.query.split('&').find_map(|pair| pair.strip_prefix("code="));
    let given = text("x-everstep-secret").or(bearer).or(code);
    // Digests have one length, so that of the secret shows in nothing.
    let digest = |text: &str| Sha256::digest(text.as_bytes());
    given.is_some_and(|given| digest(given).ct_eq(&digest(secret)).into())
}

fn is_signed(signature: &Signature, arrived: &Arrived<'_>) -> bool {
    let Signature { header, secret, prefix, encoding } = signature;
    let given = arrived.headers.get(header).and_then(|value| value.to_str().ok());
    let given = given.and_then(|given| given.strip_prefix(prefix.as_str()));
    let Some(given) = given.and_then(|given| decoded(given, *encoding)) else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret.as_bytes()) else { return false };
    mac.update(arrived.body);
    mac.verify_slice(&given).is_ok()
}

fn decoded(text: &str, encoding: Encoding) -> Option<Vec<u8>> {
    match encoding {
        Encoding::Base64 => STANDARD.decode(text).ok(),
        Encoding::Hex => {
            let digits = text.as_bytes();
            let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            let is_plain =
                digits.len().is_multiple_of(2) && digits.iter().all(u8::is_ascii_hexdigit);
            is_plain.then(|| digits.chunks(2).map(byte).collect()).flatten()
        }
    }
}

/// The items of a request that is allowed.
pub(crate) fn read(http: &Http, arrived: &Arrived<'_>) -> Result<Given, Refusal> {
    match http.format {
        Format::Json => {
            let body: &[u8] = if arrived.body.is_empty() { b"{}" } else { arrived.body };
            serde_json::from_slice::<serde::de::IgnoredAny>(body).map_err(|error| {
                let message = format!("the body is not JSON: {error}");
                Refusal::new(400, "InvalidRequestContentException", message)
            })?;
            Ok(Given::Items(vec![item(key(http, arrived)?, body.to_vec())]))
        }
        Format::EventGrid => event_grid(http, arrived),
    }
}

fn item(id: String, payload: Vec<u8>) -> Item {
    Item { id, payload, unparseable: false, position: None, delivery_count: None, handle: 0 }
}

/// The same for a request that is repeated.
fn key(http: &Http, arrived: &Arrived<'_>) -> Result<String, Refusal> {
    let name = http.idempotency_header.as_str();
    let Some(value) = arrived.headers.get(name) else {
        return Ok(format!("request-{}", uuid::Uuid::new_v4()));
    };
    match value.to_str() {
        Ok(key) if (1..=KEY_BYTES_MAX).contains(&key.len()) => Ok(format!("key-{key}")),
        _ => {
            let message =
                format!("the header '{name}' must have 1 to {KEY_BYTES_MAX} visible characters");
            Err(Refusal::new(400, "ValidationException", message))
        }
    }
}

/// A list of events, each with its id; or a single one, as CloudEvents are sent.
fn event_grid(http: &Http, arrived: &Arrived<'_>) -> Result<Given, Refusal> {
    let invalid = |message: String| Refusal::new(400, "InvalidRequestContentException", message);
    let body: Value = serde_json::from_slice(arrived.body)
        .map_err(|error| invalid(format!("the body is not JSON: {error}")))?;
    let events = match body {
        Value::Array(events) => events,
        event => vec![event],
    };
    let validation = "Microsoft.EventGrid.SubscriptionValidationEvent";
    let asked = events.iter().find(|event| event["eventType"] == validation);
    if let Some(code) =
        asked.map(|event| event["data"]["validationCode"].as_str().unwrap_or_default())
    {
        return Ok(Given::Handshake { code: code.to_owned() });
    }
    if events.is_empty() {
        return Err(invalid("the body has no events".to_owned()));
    }
    let of = |event: Value| {
        let id = match event["id"].as_str().filter(|id| (1..=KEY_BYTES_MAX).contains(&id.len())) {
            Some(id) => format!("event-{id}"),
            None => key(http, arrived)?,
        };
        Ok(item(id, event.to_string().into_bytes()))
    };
    events.into_iter().map(of).collect::<Result<Vec<Item>, Refusal>>().map(Given::Items)
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};
    use everstep_config::Text;

    use super::*;

    fn http(format: Format) -> Http {
        Http {
            secret: None,
            signature: None,
            idempotency_header: "Idempotency-Key".to_owned(),
            format,
            body_bytes_max: 1000,
        }
    }

    fn with<T>(
        headers: &[(&str, &str)],
        query: &str,
        body: &str,
        look: impl FnOnce(&Arrived<'_>) -> T,
    ) -> T {
        let pair = |(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
        };
        let headers: HeaderMap = headers.iter().map(pair).collect();
        look(&Arrived { headers: &headers, query, body: body.as_bytes() })
    }

    #[test]
    fn a_secret_is_demanded() {
        let http = Http { secret: Some(Text::from("s3cret")), ..http(Format::Json) };
        let check = |headers: &[(&str, &str)], query, expected| {
            let found = with(headers, query, "", |arrived| check(&http, arrived));
            assert_eq!(found.is_ok(), expected, "{headers:?} {query}");
        };
        check(&[], "", false);
        check(&[("authorization", "Bearer s3cret")], "", true);
        check(&[("authorization", "Bearer s3cre")], "", false);
        check(&[("authorization", "s3cret")], "", false);
        check(&[("x-everstep-secret", "s3cret")], "", true);
        check(&[("x-everstep-secret", "")], "", false);
        check(&[], "a=b&code=s3cret", true);
        check(&[], "code=other", false);
        // The first that is given counts, so that nobody can try several at once.
        check(&[("x-everstep-secret", "wrong")], "code=s3cret", false);
    }

    /// GitHub's own example, and the same as Shopify would write it.
    #[test]
    fn a_signature_is_demanded() {
        let body = "Hello, World!";
        let hex = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let github = Signature {
            header: "X-Hub-Signature-256".to_owned(),
            secret: Text::from("It's a Secret to Everybody"),
            prefix: "sha256=".to_owned(),
            encoding: Encoding::Hex,
        };
        let base64 = STANDARD.encode(decoded(hex, Encoding::Hex).unwrap());
        let shopify =
            Signature { prefix: String::new(), encoding: Encoding::Base64, ..github.clone() };
        let check = |signature: &Signature, header: Option<&str>, body, expected| {
            let http = Http { signature: Some(signature.clone()), ..http(Format::Json) };
            let headers: Vec<_> =
                header.iter().map(|value| ("x-hub-signature-256", *value)).collect();
            let found = with(&headers, "", body, |arrived| check(&http, arrived));
            assert_eq!(found.is_ok(), expected, "{header:?} {body}");
        };
        check(&github, Some(&format!("sha256={hex}")), body, true);
        check(&github, Some(&format!("sha256={}", hex.to_uppercase())), body, true);
        check(&github, Some(hex), body, false);
        check(&github, Some(&format!("sha256={hex}")), "Hello, World?", false);
        check(&github, Some("sha256="), body, false);
        check(&github, Some("sha256=xy"), body, false);
        check(&github, Some("sha256=+1"), body, false);
        check(&github, None, body, false);
        check(&shopify, Some(&base64), body, true);
        check(&shopify, Some(hex), body, false);
    }

    #[test]
    fn a_body_is_an_event() {
        let given = |headers: &[(&str, &str)], body: &str| {
            with(headers, "", body, |arrived| read(&http(Format::Json), arrived))
        };
        let Ok(Given::Items(items)) = given(&[("idempotency-key", "k")], "{\"n\":1}") else {
            panic!("no items");
        };
        assert_eq!(items, [item("key-k".to_owned(), b"{\"n\":1}".to_vec())]);
        let Ok(Given::Items(items)) = given(&[], "") else { panic!("no items") };
        assert!(items[0].id.starts_with("request-") && items[0].payload == b"{}");
        assert_eq!(given(&[], "<xml/>").map_err(|refusal| refusal.status), Err(400));
        let long = "k".repeat(257);
        let key = [("idempotency-key", long.as_str())];
        assert_eq!(given(&key, "{}").map_err(|refusal| refusal.status), Err(400));
    }

    #[test]
    fn event_grid_asks_before_it_sends() {
        let given =
            |body: &str| with(&[], "", body, |arrived| read(&http(Format::EventGrid), arrived));
        let asked = r#"[{"id":"1","eventType":"Microsoft.EventGrid.SubscriptionValidationEvent",
                         "data":{"validationCode":"512d38b6"}}]"#;
        assert_eq!(given(asked), Ok(Given::Handshake { code: "512d38b6".to_owned() }));
        let Ok(Given::Items(items)) = given(r#"[{"id":"1","n":1},{"id":"2"}]"#) else {
            panic!("no items");
        };
        let ids: Vec<&str> = items.iter().map(|item| item.id.as_str()).collect();
        assert_eq!(ids, ["event-1", "event-2"]);
        assert_eq!(items[0].payload, br#"{"id":"1","n":1}"#);
        let Ok(Given::Items(one)) = given(r#"{"id":"3","specversion":"1.0"}"#) else {
            panic!("no items");
        };
        assert_eq!(one[0].id, "event-3");
        assert_eq!(given("[]").map_err(|refusal| refusal.status), Err(400));
        assert_eq!(given("x").map_err(|refusal| refusal.status), Err(400));
    }
}
