//! Requests that are accepted, and all that are not.

mod hostile;
mod refusals;
mod vectors;

use std::sync::LazyLock;

use jiff::Timestamp;
use serde_json::Value;

use super::*;

/// A request of its own parts, so that a test can change them.
#[derive(Debug, Clone)]
struct Signed {
    name: String,
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    region: String,
    service: String,
    key: (String, String),
    signed_at_ms: i64,
}

/// Made by `tools/access_vectors.py`: AWS's test suite for signers, and requests that botocore signed.
fn vectors() -> &'static [Signed] {
    static VECTORS: LazyLock<Vec<Signed>> = LazyLock::new(|| {
        let listed: Value =
            serde_json::from_str(include_str!("../../testdata/sigv4.json")).unwrap();
        listed.as_array().unwrap().iter().map(Signed::read).collect()
    });
    &VECTORS
}

impl Signed {
    fn read(case: &Value) -> Self {
        let text = |name: &str| case[name].as_str().unwrap().to_owned();
        let header = |pair: &Value| {
            let part = |index: usize| pair[index].as_str().unwrap().to_owned();
            (part(0), part(1).into_bytes())
        };
        Self {
            name: text("name"),
            method: text("method"),
            path: text("path"),
            query: text("query"),
            headers: case["headers"].as_array().unwrap().iter().map(header).collect(),
            body: text("body").into_bytes(),
            region: text("region"),
            service: text("service"),
            key: (text("key"), text("secret")),
            signed_at_ms: text("signedAt").parse::<Timestamp>().unwrap().as_millisecond(),
        }
    }

    fn named(name: &str) -> Self {
        vectors().iter().find(|signed| signed.name == name).unwrap().clone()
    }

    fn keys(&self) -> Keys {
        Keys::new([self.key.clone()]).unwrap()
    }

    fn verify_at(&self, keys: &Keys, now_ms: i64) -> Result<Caller, Refusal> {
        verify(&self.request(&self.listed()), keys, now_ms, &self.policy())
    }

    fn listed(&self) -> Vec<(&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect()
    }

    fn request<'a>(&'a self, headers: &'a [(&'a str, &'a [u8])]) -> Request<'a> {
        let (method, path, query) = (&*self.method, &*self.path, &*self.query);
        Request { method, path, query, headers, body: &self.body }
    }

    fn signing(&self, session_token: Option<&str>) -> Signing {
        let (access_key_id, secret_access_key) = self.key.clone();
        let session_token = session_token.map(str::to_owned);
        Signing {
            credentials: Credentials { access_key_id, secret_access_key, session_token },
            region: self.region.clone(),
            service: self.service.clone(),
        }
    }

    fn policy(&self) -> Policy<'_> {
        Policy {
            region: Some(&self.region),
            service: &self.service,
            skew_ms: SKEW_MS,
            unsigned_payload: false,
        }
    }

    fn verify(&self) -> Result<Caller, Refusal> {
        self.verify_at(&self.keys(), self.signed_at_ms)
    }

    fn header(&mut self, name: &str) -> &mut Vec<u8> {
        let mut headers = self.headers.iter_mut();
        &mut headers.find(|(found, _)| found.eq_ignore_ascii_case(name)).unwrap().1
    }

    fn authorization(&self) -> String {
        let header =
            self.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        String::from_utf8(header.unwrap().1.clone()).unwrap()
    }

    fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
        self
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.as_bytes().to_vec()));
        self
    }
}

/// The refusal a request meets.
fn check(signed: &Signed, expected: &str) {
    let refusal = signed.verify().unwrap_err();
    assert_eq!(refusal.to_string(), expected);
}

const MISMATCH: &str = "InvalidSignatureException: The request signature we calculated does not match \
                        the signature you provided. Check your AWS Secret Access Key and signing method. \
                        Consult the service documentation for details.";

fn started() -> Signed {
    Signed::named("botocore 0 (header)")
}

fn presigned() -> Signed {
    Signed::named("botocore 0 (query)")
}

/// What a request's header says with one of its parts changed.
fn authorized(from: &str, to: &str) -> Signed {
    let mut signed = started();
    let authorization = signed.authorization();
    assert!(authorization.contains(from), "{authorization}");
    *signed.header("authorization") = authorization.replace(from, to).into_bytes();
    signed
}

fn queried(from: &str, to: &str) -> Signed {
    let mut signed = presigned();
    assert!(signed.query.contains(from), "{}", signed.query);
    signed.query = signed.query.replace(from, to);
    signed
}
