//! Requests that are let in, and all that are not.

use std::sync::LazyLock;

use jiff::Timestamp;
use proptest::prelude::*;
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
        let listed: Value = serde_json::from_str(include_str!("../testdata/sigv4.json")).unwrap();
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

#[test]
fn every_vector_is_let_in() {
    let vectors = vectors();
    assert!(vectors.len() > 150);
    for signed in vectors {
        let caller = signed.verify().unwrap_or_else(|refusal| panic!("{}: {refusal}", signed.name));
        assert_eq!(caller.access_key_id, signed.key.0);
    }
}

/// What the vectors' own signers made of them.
#[test]
fn every_vector_is_signed_alike() {
    let mut count = 0;
    for signed in vectors().iter().filter(|signed| signed.name.ends_with("(header)")) {
        let authorization = signed.authorization();
        let names =
            authorization.split("SignedHeaders=").nth(1).unwrap().split(',').next().unwrap();
        let mut given = signed.clone();
        let names: Vec<_> = names.split(';').collect();
        given.headers.retain(|(name, _)| names.contains(&name.to_ascii_lowercase().as_str()));
        let made = given.signing(None).sign(&given.request(&given.listed()), 0);
        let expected = vec![("authorization", authorization)];
        assert_eq!(made, Ok(expected), "{}", signed.name);
        count += 1;
    }
    assert!(count > 75);
}

#[test]
fn what_is_signed_is_let_in() {
    for token in [None, Some("a token")] {
        let mut signed = started();
        let now = signed.signed_at_ms;
        signed = signed.without("authorization").without("x-amz-date").with("User-Agent", "me");
        let made = signed.signing(token).sign(&signed.request(&signed.listed()), now).unwrap();
        let names: Vec<_> = made.iter().map(|(name, _)| *name).collect();
        let all = ["x-amz-date", "x-amz-security-token", "authorization"];
        let all = all.into_iter().filter(|name| token.is_some() || !name.ends_with("token"));
        assert_eq!(names, all.collect::<Vec<_>>());
        for (name, value) in made {
            signed = signed.with(name, &value);
        }
        *signed.header("user-agent") = b"a proxy".to_vec();
        assert_eq!(signed.verify().map(|caller| caller.access_key_id), Ok(signed.key.0.clone()));
        *signed.header("content-type") = b"text/plain".to_vec();
        check(&signed, MISMATCH);
    }
}

#[test]
fn what_cannot_be_signed() {
    let check = |signed: &Signed, expected: &str| {
        let refused = signed.signing(None).sign(&signed.request(&signed.listed()), 0).unwrap_err();
        assert_eq!(refused.to_string(), format!("the request cannot be signed: {expected}"));
    };
    check(&started().without("host"), "it has no Host header");
    let mut broken = started();
    broken.query = "a=%2".to_owned();
    check(&broken, "its query has a '%' that no two hexadecimal digits follow");
    let dated = started().without("x-amz-date").with("X-Amz-Date", "today");
    check(&dated, "the header x-amz-date must be like 20150830T123600Z");
    check(&dated.with("X-Amz-Date", "today"), "the header x-amz-date must be there once");
}

#[test]
fn secrets_are_not_shown() {
    let shown = format!("{:?}", started().signing(Some("token")));
    assert_eq!(
        shown,
        "Signing { credentials: Credentials(\"AKIDEVERSTEP\"), region: \"eu-west-1\", service: \"states\" }"
    );
}

#[test]
fn another_secret_and_another_key() {
    let signed = started();
    let now = signed.signed_at_ms;
    let of = |id: &str, secret: &str| Keys::new([(id.to_owned(), secret.to_owned())]).unwrap();
    let refused = signed.verify_at(&of(&signed.key.0, "other"), now).unwrap_err();
    assert_eq!(refused.to_string(), MISMATCH);
    let unknown =
        "UnrecognizedClientException: The security token included in the request is invalid.";
    for keys in [of("OTHER", &signed.key.1), Keys::default()] {
        assert_eq!(signed.verify_at(&keys, now).unwrap_err().to_string(), unknown);
    }
    // Not even the secret that stands in for an unknown key lets its owner in.
    let example = Signed::named("get-vanilla (header)");
    let refused = example.verify_at(&Keys::default(), example.signed_at_ms).unwrap_err();
    assert_eq!(refused.to_string(), unknown);
}

#[test]
fn unsigned_requests() {
    let missing = "MissingAuthenticationTokenException: Missing Authentication Token";
    check(&started().without("authorization"), missing);
    let mut bare = presigned();
    bare.query = "a=1".to_owned();
    check(&bare, missing);
}

#[test]
fn clocks() {
    let at = |signed: Signed, seconds: i64, expected: Option<&str>| {
        let found = signed.verify_at(&signed.keys(), signed.signed_at_ms + seconds * 1000).err();
        let found = found.map(|refusal| refusal.to_string());
        let expected = expected.map(|said| format!("InvalidSignatureException: Signature {said}"));
        assert_eq!(found, expected);
    };
    at(started(), 300, None);
    at(started(), -300, None);
    at(
        started(),
        301,
        Some(
            "expired: 20261115T235958Z is now earlier than 20261115T235959Z (20261116T000459Z - 5 min.)",
        ),
    );
    at(
        started(),
        -301,
        Some(
            "not yet current: 20261115T235958Z is still later than 20261115T235957Z \
             (20261115T235457Z + 5 min.)",
        ),
    );
    at(presigned(), 3600, None);
    at(
        presigned(),
        3601,
        Some(
            "expired: 20261115T235958Z is now earlier than 20261115T235959Z (20261116T005959Z - 60 min.)",
        ),
    );
    at(
        presigned(),
        -301,
        Some(
            "not yet current: 20261115T235958Z is still later than 20261115T235957Z \
             (20261115T235457Z + 5 min.)",
        ),
    );
    // A clock that is nowhere near does no harm.
    for now in [i64::MIN, i64::MAX] {
        assert!(started().verify_at(&started().keys(), now).is_err());
        assert!(presigned().verify_at(&started().keys(), now).is_err());
    }
}

#[test]
fn scopes() {
    let invalid = |said: &str| format!("InvalidSignatureException: {said} ");
    check(
        &authorized("/eu-west-1/", "/us-east-1/"),
        &invalid("Credential should be scoped to a valid region, not 'us-east-1'."),
    );
    check(
        &authorized("/states/", "/lambda/"),
        &invalid("Credential should be scoped to correct service: 'states'."),
    );
    check(
        &authorized("/aws4_request", "/aws_request"),
        &invalid(
            "Credential should be scoped with a valid terminator: 'aws4_request', not 'aws_request'.",
        ),
    );
    check(
        &authorized("/20261115/", "/20261116/"),
        &invalid(
            "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP: \
             '20261116' != '20261115', from '20261115T235958Z'.",
        ),
    );
    check(
        &authorized("/eu-west-1/states/", "/a/b/"),
        &invalid(
            "Credential should be scoped to a valid region, not 'a'. Credential should be scoped to \
             correct service: 'states'.",
        ),
    );
    let elements = "IncompleteSignatureException: Credential must have exactly 5 slash-delimited \
                    elements, e.g. keyid/date/region/service/term, got ";
    check(
        &authorized("/states/", "/"),
        &format!("{elements}'AKIDEVERSTEP/20261115/eu-west-1/aws4_request'"),
    );
    check(
        &authorized("/states/", "/states/states/"),
        &format!("{elements}'AKIDEVERSTEP/20261115/eu-west-1/states/states/aws4_request'"),
    );
}

#[test]
fn any_region_where_none_is_set() {
    let signed = started();
    let headers = signed.listed();
    let request = signed.request(&headers);
    let policy = Policy { region: None, ..signed.policy() };
    assert!(verify(&request, &signed.keys(), signed.signed_at_ms, &policy).is_ok());
}

#[test]
fn incomplete_authorizations() {
    let with = |value: &str| {
        let mut signed = started();
        *signed.header("authorization") = value.as_bytes().to_vec();
        signed
    };
    let incomplete = |said: &str| format!("IncompleteSignatureException: {said}");
    check(&with(""), &incomplete("Authorization header cannot be empty: ''."));
    // The hashes are those of the whole header: `printf ... | openssl sha256 -binary | base64`.
    check(
        &with("Bearer abc"),
        &incomplete(
            "Invalid key=value pair (missing equal-sign) in Authorization header (hashed with SHA-256 \
             and encoded with Base64): 'w1Xc6WwWEogNEZQP/dkBTThsJT4MNlKmzQanIm970rY='.",
        ),
    );
    check(
        &with("AWS4-ECDSA-P256-SHA256 Credential=a"),
        &incomplete("Unsupported AWS 'algorithm': 'AWS4-ECDSA-P256-SHA256'."),
    );
    check(
        &with("AWS4-HMAC-SHA256").without("x-amz-date"),
        &incomplete(
            "Authorization header requires 'Credential' parameter. Authorization header requires \
             'Signature' parameter. Authorization header requires 'SignedHeaders' parameter. \
             Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. \
             (Hashed with SHA-256 and encoded with Base64) \
             Authorization=YI2YWea8FSxnksZL2ETHbs5elHm9HQufxTLK0W0ffV0=",
        ),
    );
    let twice = incomplete("the Authorization header has more than one 'Signature'");
    check(&authorized("Signature=", "Signature=0, Signature="), &twice);
    let once = incomplete("the Authorization header must be there once, and be text");
    check(&started().with("Authorization", "AWS4-HMAC-SHA256"), &once);
    let mut binary = started();
    binary.header("authorization").push(0xff);
    check(&binary, &once);
}

#[test]
fn dates() {
    let dated = |value: &str| started().without("x-amz-date").with("X-Amz-Date", value);
    check(
        &dated("yesterday"),
        "IncompleteSignatureException: Date must be in ISO-8601 'basic format'. Got 'yesterday'. See \
         http://en.wikipedia.org/wiki/ISO_8601",
    );
    check(
        &started().with("X-Amz-Date", "20261115T235958Z"),
        "IncompleteSignatureException: the header x-amz-date must be there once, and be text",
    );
    // The time is signed even where its header is not: another one does not fit.
    check(&dated("20261115T235957Z"), MISMATCH);
}

/// Signs a request anew, for what no vector holds.
fn signed_anew(mut signed: Signed, signed_headers: &str, moment: &str, payload: &str) -> Signed {
    let index: Vec<_> =
        signed.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    let headers = Headers::index(&index);
    let claim = Claim {
        scope: claim::Scope::read("AKIDEVERSTEP/20261115/eu-west-1/states/aws4_request").unwrap(),
        signed_headers: signed_headers.to_owned(),
        signature: String::new(),
        moment: Moment::basic(moment).unwrap(),
        expires_ms: None,
    };
    let (method, path, query) = (&*signed.method, &*signed.path, &*signed.query);
    let request = Request { method, path, query, headers: &index, body: &signed.body };
    let parsed = Query::read(query).unwrap();
    let canonical =
        canonical::request(&request, &headers, &parsed, signed_headers, payload).unwrap();
    let signature = signature::sign(&signed.key.1, &claim.scope, &claim.moment, &canonical);
    *signed.header("authorization") = format!(
        "AWS4-HMAC-SHA256 Credential=AKIDEVERSTEP/{}, SignedHeaders={signed_headers}, \
         Signature={signature}",
        claim.scope.signed()
    )
    .into_bytes();
    signed
}

#[test]
fn the_date_header_will_do() {
    let signed = started().without("x-amz-date").with("Date", "Sun, 15 Nov 2026 23:59:58 GMT");
    let payload = canonical::hex(&sha256(&signed.body));
    let signed = signed_anew(signed, "date;host;x-amz-target", "20261115T235958Z", &payload);
    assert!(signed.verify().is_ok());
}

fn sha256(bytes: &[u8]) -> Vec<u8> {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).to_vec()
}

#[test]
fn what_must_be_signed() {
    let must = |header: &str| {
        format!(
            "InvalidSignatureException: {header} must be a 'SignedHeader' in the AWS Authorization."
        )
    };
    check(&authorized(";host;", ";hosts;"), &must("'Host' or ':authority'"));
    let anew = |signed: Signed| {
        let payload = canonical::hex(&sha256(&signed.body));
        signed_anew(signed, "host", "20261115T235958Z", &payload)
    };
    check(&anew(started()), &must("'X-Amz-Target'"));
    let hashed = started().without("x-amz-target").with("X-Amz-Content-Sha256", "x");
    check(&anew(hashed), &must("'X-Amz-Content-Sha256'"));
    let order =
        "IncompleteSignatureException: the signed headers must be listed in order, each once";
    check(&authorized("SignedHeaders=content-type;host", "SignedHeaders=host;content-type"), order);
    check(
        &authorized("SignedHeaders=content-type;", "SignedHeaders=content-type;content-type;"),
        order,
    );
    // A header that is said to be signed and was taken away.
    check(&started().without("content-type"), MISMATCH);
}

#[test]
fn bodies_that_are_not_signed() {
    let signed = started().with("X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD");
    let names = "host;x-amz-content-sha256;x-amz-date;x-amz-target";
    let signed = signed_anew(signed, names, "20261115T235958Z", "UNSIGNED-PAYLOAD");
    check(
        &signed,
        "InvalidSignatureException: the body must be signed: UNSIGNED-PAYLOAD is accepted over TLS only",
    );
    let headers: Vec<_> =
        signed.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
    let (method, path, query) = (&*signed.method, &*signed.path, &*signed.query);
    let request = Request { method, path, query, headers: &headers, body: b"any" };
    let policy = Policy { unsigned_payload: true, ..signed.policy() };
    assert!(verify(&request, &signed.keys(), signed.signed_at_ms, &policy).is_ok());
}

#[test]
fn presigned_requests() {
    let incomplete = |said: &str| format!("IncompleteSignatureException: {said}");
    let must = |name: &str| {
        incomplete(&format!(
            "AWS query-string parameters must include '{name}'. Re-examine the query-string parameters."
        ))
    };
    for name in [
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Date",
        "X-Amz-Expires",
        "X-Amz-SignedHeaders",
        "X-Amz-Signature",
    ] {
        check(&queried(&format!("{name}="), "Other="), &must(name));
    }
    check(
        &queried("HMAC-SHA256", "HMAC-SHA1"),
        &incomplete("Unsupported AWS 'algorithm': 'AWS4-HMAC-SHA1'."),
    );
    check(
        &queried("X-Amz-Signature=", "X-Amz-Signature=0&X-Amz-Signature="),
        &incomplete("the query-string parameter X-Amz-Signature must be there once, and be text"),
    );
    check(
        &queried("X-Amz-Expires=3600", "X-Amz-Expires=%zz"),
        &incomplete("the query string has a '%' that no two hexadecimal digits follow"),
    );
    check(&queried("X-Amz-Expires=3600", "X-Amz-Expires=3601"), MISMATCH);
    check(
        &presigned().with("Authorization", &started().authorization()),
        &incomplete(
            "the request is signed twice, by its Authorization header and in its query string",
        ),
    );
}

#[test]
fn a_session_token_is_compared_with_nothing() {
    assert!(Signed::named("botocore 1 (header)").verify().is_ok());
    assert!(started().with("X-Amz-Security-Token", "any").verify().is_ok());
}

/// A header of hundreds of kilobytes takes no longer than its length: names that repeat are not hashed
/// again and again, and thousands of headers are found by name.
#[test]
fn long_headers() {
    let mut names = "x;".repeat(100_000);
    names.push_str("host");
    let signed = authorized("content-type;host", &names).with("X", &"v".repeat(100_000));
    assert!(signed.verify().is_err());
    let mut many = started();
    many.headers.extend((0..100_000).map(|index| (format!("x-{index:06}"), b"v".to_vec())));
    let listed: Vec<_> = (0..100_000).map(|index| format!("x-{index:06}")).collect();
    let all = format!("host;{}", listed.join(";"));
    let authorization = many.authorization().replace("content-type;host", &all);
    *many.header("authorization") = authorization.into_bytes();
    assert!(many.verify().is_err());
    let mut wide = started();
    wide.path = "/..".repeat(100_000);
    wide.query = "a=%20&".repeat(100_000);
    check(&wide, MISMATCH);
}

/// Where a byte of a request can be changed.
fn places(signed: &mut Signed) -> Vec<&mut Vec<u8>> {
    // The rest is not signed: other headers may be added and changed on the way.
    let names: Vec<_> = match signed.headers.iter().find(|(name, _)| name == "Authorization") {
        Some((_, value)) => {
            let value = String::from_utf8(value.clone()).unwrap();
            let names = value.split("SignedHeaders=").nth(1).unwrap().split(',').next().unwrap();
            names.split(';').map(str::to_owned).chain(["authorization".to_owned()]).collect()
        }
        None => vec!["host".to_owned()],
    };
    let headers = signed.headers.iter_mut();
    let signed_headers = headers
        .filter(|(name, _)| names.contains(&name.to_ascii_lowercase()))
        .map(|(_, value)| value);
    signed_headers.chain([&mut signed.body]).filter(|bytes| !bytes.is_empty()).collect()
}

/// Whether a change means nothing: spaces are trimmed and made one, and parameters are divided by spaces
/// as well as by commas.
fn same(before: &[u8], after: &[u8]) -> bool {
    let words = |bytes: &[u8]| {
        let words = bytes.split(|byte| b" \t,\r\n\x0c".contains(byte));
        words.filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect::<Vec<_>>()
    };
    words(before) == words(after)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_changed_byte_is_refused(
        vector in 0..200_usize,
        place in any::<prop::sample::Index>(),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let vectors = vectors();
        let mut signed = vectors[vector % vectors.len()].clone();
        let mut places = places(&mut signed);
        let count = places.len();
        let bytes = &mut places[place.index(count)];
        let before = bytes.clone();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assume!(!same(&before, bytes));
        prop_assert!(signed.verify().is_err(), "{signed:?}");
    }

    /// The method, the path and the query, which are text.
    #[test]
    fn a_changed_character_is_refused(
        vector in 0..200_usize,
        part in 0..3_usize,
        at in any::<prop::sample::Index>(),
        to in "[A-Za-z0-9%/=&._~-]",
    ) {
        let vectors = vectors();
        let mut signed = vectors[vector % vectors.len()].clone();
        let canonical = |signed: &Signed| {
            let query = Query::read(&signed.query).map(|query| query.canonical()).ok();
            (signed.method.clone(), signed.path.clone(), query)
        };
        let before = canonical(&signed);
        let text = [&mut signed.method, &mut signed.path, &mut signed.query]
            .into_iter().nth(part).unwrap();
        let characters: Vec<_> = text.chars().collect();
        prop_assume!(!characters.is_empty());
        let at = at.index(characters.len());
        let changed: String = characters.iter().enumerate()
            .map(|(index, one)| if index == at { to.clone() } else { one.to_string() }).collect();
        let unlike = canonical::path(text) != canonical::path(&changed) || part != 1;
        *text = changed;
        let signature = signed.query.contains("X-Amz-Signature=") && part == 2;
        prop_assume!(unlike && (canonical(&signed) != before || signature));
        prop_assume!(vectors[vector % vectors.len()].query != signed.query || part != 2);
        prop_assert!(signed.verify().is_err(), "{signed:?}");
    }

    #[test]
    fn nothing_panics(
        method in ".{0,5}",
        path in ".{0,30}",
        query in "((X-Amz-(Algorithm|Credential|Date|Expires|SignedHeaders|Signature)|.)=.{0,9}&){0,8}",
        names in prop::collection::vec("(?i)(authorization|x-amz-date|date|host|x-amz-target|.{0,4})", 0..6),
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 6),
        authorization in
            "AWS4-HMAC-SHA256 Credential=.{0,30}, ?SignedHeaders=[a-z;-]{0,20}, ?Signature=.{0,9}",
        now in any::<i64>(),
    ) {
        let mut headers: Vec<(&str, &[u8])> =
            names.iter().map(String::as_str).zip(values.iter().map(Vec::as_slice)).collect();
        headers.push(("Authorization", authorization.as_bytes()));
        headers.push(("X-Amz-Date", b"20261115T235958Z"));
        let body = values[0].as_slice();
        let policy =
            Policy { region: None, service: "states", skew_ms: SKEW_MS, unsigned_payload: true };
        let request = Request { method: &method, path: &path, query: &query, headers: &headers, body };
        prop_assert!(verify(&request, &Keys::default(), now, &policy).is_err());
        let bare = Request { headers: &headers[..names.len()], ..request };
        prop_assert!(verify(&bare, &Keys::default(), now, &policy).is_err());
    }
}
