//! Requests that become events: who may send them, what they bring.

use super::model::{Encoding, Format, Http, Signature};
use crate::reader::{Field, Fields, Setting as _};
use crate::rule::Rule;
use crate::text::Text;

/// Bytes of a body, by default and at most: no event is larger.
const BODY_BYTES: u32 = 1 << 20;
const BODY_BYTES_MAX: u32 = 6 << 20;

pub(super) fn http(fields: &Fields<'_>) -> Option<Http> {
    let secret = fields.get("secret").map(|field| secret(&field));
    let signature = fields.get("signature").map(|field| signature(&field));
    let idempotency_header = match fields.get("idempotencyHeader") {
        Some(field) => header(&field),
        None => Some("Idempotency-Key".to_owned()),
    };
    let format = fields.get("format").map_or(Some(Format::Json), |field| field.word(FORMATS));
    let bytes = fields
        .get("maxBodyBytes")
        .map_or(Some(BODY_BYTES), |field| field.integer(1..=BODY_BYTES_MAX));
    Some(Http {
        secret: secret.map_or(Some(None), |secret| secret.map(Some))?,
        signature: signature.map_or(Some(None), |signature| signature.map(Some))?,
        idempotency_header: idempotency_header?,
        format: format?,
        body_bytes_max: bytes?,
    })
}

const FORMATS: &[(&str, Format)] = &[("json", Format::Json), ("eventGrid", Format::EventGrid)];
const ENCODINGS: &[(&str, Encoding)] = &[("hex", Encoding::Hex), ("base64", Encoding::Base64)];

/// As GitHub has it where nothing else is said.
fn signature(field: &Field<'_>) -> Option<Signature> {
    let fields = field.settings("`signature`")?;
    let secret = fields.require("secret").and_then(|field| secret(&field));
    let given = fields.get("header").map(|field| header(&field));
    let usual = if given.is_none() { "sha256=" } else { "" };
    let prefix = fields.get("prefix").map_or(Some(usual), |field| field.string());
    let encoding =
        fields.get("encoding").map_or(Some(Encoding::Hex), |field| field.word(ENCODINGS));
    fields.finish_plain();
    Some(Signature {
        header: given.unwrap_or(Some("X-Hub-Signature-256".to_owned()))?,
        secret: secret?,
        prefix: prefix?.to_owned(),
        encoding: encoding?,
    })
}

/// A secret is never in the file.
fn secret(field: &Field<'_>) -> Option<Text> {
    let secret = field.text()?;
    let message = if !secret.is_secret() {
        format!("`{}` must be taken from the environment", field.name)
    } else if secret.is_empty() {
        format!("`{}` is empty", field.name)
    } else {
        return Some(secret);
    };
    let found = field.report(Rule::NotSupported, message);
    field.cx.report(found.hint("write ${env:NAME}, and set NAME before everstep starts"));
    None
}

fn header(field: &Field<'_>) -> Option<String> {
    let name = field.plain()?;
    let is_token = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    if name.chars().all(is_token) {
        return Some(name.to_owned());
    }
    let found = field.report(Rule::InvalidName, format!("`{name}` cannot be the name of a header"));
    field.cx.report(found.hint("letters, digits, `-` and `_`"));
    None
}
