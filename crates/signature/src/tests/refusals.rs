//! Requests that are refused, and why.

use super::*;

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
