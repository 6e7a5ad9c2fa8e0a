//! Long headers, and requests of which any byte was changed.

use proptest::prelude::*;

use super::*;

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
