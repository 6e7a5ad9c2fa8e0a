//! Requests that AWS's own signers signed, and what is signed here.

use super::*;

#[test]
fn every_vector_is_accepted() {
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
fn what_is_signed_is_accepted() {
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
