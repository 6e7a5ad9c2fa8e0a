//! A signature in the header `Authorization`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use super::claim::{ALGORITHM, Claim, Scope, shortened};
use super::headers::Headers;
use super::{Moment, Refusal};

/// `AWS4-HMAC-SHA256 Credential=..., SignedHeaders=..., Signature=...`, with the time in `X-Amz-Date`, or
/// else in `Date`.
pub(super) fn claim(headers: &Headers<'_>) -> Result<Claim, Refusal> {
    let authorization = headers.one("authorization").map_err(|()| {
        Refusal::incomplete("the Authorization header must be there once, and be text")
    })?;
    let authorization = authorization.unwrap_or_default();
    let parameters = Parameters::read(authorization)?;
    let time = time(headers)?;
    parameters.check(time.is_some(), authorization)?;
    Ok(Claim {
        scope: Scope::read(parameters.credential.unwrap_or_default())?,
        signed_headers: parameters.signed_headers.unwrap_or_default().to_owned(),
        signature: parameters.signature.unwrap_or_default().to_owned(),
        moment: moment(time.unwrap_or_default())?,
        expires_ms: None,
    })
}

#[derive(Default)]
struct Parameters<'a> {
    credential: Option<&'a str>,
    signed_headers: Option<&'a str>,
    signature: Option<&'a str>,
}

impl<'a> Parameters<'a> {
    fn read(authorization: &'a str) -> Result<Self, Refusal> {
        if authorization.is_empty() {
            return Err(Refusal::incomplete("Authorization header cannot be empty: ''."));
        }
        let mut words = authorization.split([' ', '\t', ',']).filter(|word| !word.is_empty());
        let algorithm = words.next().unwrap_or_default();
        if algorithm != ALGORITHM && algorithm.starts_with("AWS4-") {
            let found = shortened(algorithm);
            return Err(Refusal::incomplete(format!("Unsupported AWS 'algorithm': '{found}'.")));
        }
        let mut parameters = Self::default();
        for word in words {
            let (name, value) = word.split_once('=').ok_or_else(|| {
                Refusal::incomplete(format!(
                    "Invalid key=value pair (missing equal-sign) in Authorization header (hashed with \
                     SHA-256 and encoded with Base64): '{}'.",
                    hashed(authorization)
                ))
            })?;
            parameters.set(name, value)?;
        }
        // Another scheme has none of the parameters, whatever else it has.
        Ok(if algorithm == ALGORITHM { parameters } else { Self::default() })
    }

    fn set(&mut self, name: &str, value: &'a str) -> Result<(), Refusal> {
        let place = match name {
            "Credential" => &mut self.credential,
            "SignedHeaders" => &mut self.signed_headers,
            "Signature" => &mut self.signature,
            _ => return Ok(()),
        };
        match place.replace(value) {
            None => Ok(()),
            Some(_) => {
                let message = format!("the Authorization header has more than one '{name}'");
                Err(Refusal::incomplete(message))
            }
        }
    }

    /// Whether all is there. Services name all that is missing, and the header by its hash.
    fn check(&self, dated: bool, authorization: &str) -> Result<(), Refusal> {
        let wanted = [
            (self.credential.is_some(), "'Credential' parameter."),
            (self.signature.is_some(), "'Signature' parameter."),
            (self.signed_headers.is_some(), "'SignedHeaders' parameter."),
            (dated, "existence of either a 'X-Amz-Date' or a 'Date' header."),
        ];
        let missing = wanted.iter().filter(|(there, _)| !there);
        let missing: String =
            missing.map(|(_, what)| format!("Authorization header requires {what} ")).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let hash = hashed(authorization);
        Err(Refusal::incomplete(format!(
            "{missing}(Hashed with SHA-256 and encoded with Base64) Authorization={hash}"
        )))
    }
}

fn hashed(text: &str) -> String {
    STANDARD.encode(Sha256::digest(text.as_bytes()))
}

fn time<'a>(headers: &Headers<'a>) -> Result<Option<&'a str>, Refusal> {
    let name = if headers.has("x-amz-date") { "x-amz-date" } else { "date" };
    let twice =
        || Refusal::incomplete(format!("the header {name} must be there once, and be text"));
    headers.one(name).map_err(|()| twice())
}

fn moment(text: &str) -> Result<Moment, Refusal> {
    Moment::any(text).ok_or_else(|| undated(text))
}

pub(super) fn undated(text: &str) -> Refusal {
    Refusal::incomplete(format!(
        "Date must be in ISO-8601 'basic format'. Got '{}'. See http://en.wikipedia.org/wiki/ISO_8601",
        shortened(text)
    ))
}
