//! The parts of a signature, as a request carries them.

use super::headers::Headers;
use super::moment::written;
use super::{Moment, Policy, Refusal};

/// The algorithm, the only one.
pub(super) const ALGORITHM: &str = "AWS4-HMAC-SHA256";
const TERMINATOR: &str = "aws4_request";

#[derive(Debug)]
pub(super) struct Claim {
    pub(super) scope: Scope,
    /// As they were listed: in small letters, sorted, each once.
    pub(super) signed_headers: String,
    pub(super) signature: String,
    pub(super) moment: Moment,
    /// How long it is valid; None for a signature in a header, which is valid while the clocks agree.
    pub(super) expires_ms: Option<i64>,
}

/// `AKID/20150830/us-east-1/states/aws4_request`.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) key_id: String,
    date: String,
    region: String,
    service: String,
    terminator: String,
}

impl Scope {
    pub(super) fn new(key_id: &str, moment: &Moment, region: &str, service: &str) -> Self {
        Self {
            key_id: key_id.to_owned(),
            date: moment.date().to_owned(),
            region: region.to_owned(),
            service: service.to_owned(),
            terminator: TERMINATOR.to_owned(),
        }
    }

    pub(super) fn read(credential: &str) -> Result<Self, Refusal> {
        let parts: Vec<_> = credential.splitn(6, '/').map(str::to_owned).collect();
        match <[String; 5]>::try_from(parts) {
            Ok([key_id, date, region, service, terminator]) => {
                Ok(Self { key_id, date, region, service, terminator })
            }
            Err(_) => Err(Refusal::incomplete(format!(
                "Credential must have exactly 5 slash-delimited elements, e.g. \
                 keyid/date/region/service/term, got '{}'",
                shortened(credential)
            ))),
        }
    }

    /// What is signed of it, which is all but the key.
    pub(super) fn signed(&self) -> String {
        format!("{}/{}/{}/{}", self.date, self.region, self.service, self.terminator)
    }

    /// The parts a key is derived by.
    pub(super) fn parts(&self) -> [&str; 4] {
        [&self.date, &self.region, &self.service, &self.terminator]
    }

    /// Whether it is for this service, this region and the day of the request. Services name all that is
    /// wrong, each in a sentence that ends with a space.
    pub(super) fn check(&self, moment: &Moment, policy: &Policy<'_>) -> Result<(), Refusal> {
        let mut wrong = String::new();
        if policy.region.is_some_and(|region| region != self.region) {
            let region = shortened(&self.region);
            wrong += &format!("Credential should be scoped to a valid region, not '{region}'. ");
        }
        if self.service != policy.service {
            let service = policy.service;
            wrong += &format!("Credential should be scoped to correct service: '{service}'. ");
        }
        if self.terminator != TERMINATOR {
            let found = shortened(&self.terminator);
            wrong += &format!(
                "Credential should be scoped with a valid terminator: '{TERMINATOR}', not '{found}'. "
            );
        }
        if self.date != moment.date() {
            wrong += &format!(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from \
                 HTTP: '{}' != '{}', from '{}'. ",
                shortened(&self.date),
                moment.date(),
                moment.text
            );
        }
        if wrong.is_empty() { Ok(()) } else { Err(Refusal::invalid(wrong)) }
    }
}

impl Claim {
    /// Whether it is good now.
    pub(super) fn check_time(&self, now_ms: i64, skew_ms: i64) -> Result<(), Refusal> {
        let (signed, now) = (&self.moment.text, written(now_ms));
        let age_ms = self.expires_ms.unwrap_or(skew_ms);
        let earliest = now_ms.saturating_sub(age_ms);
        if self.moment.ms < earliest {
            let (earliest, minutes) = (written(earliest), age_ms / 60_000);
            return Err(Refusal::invalid(format!(
                "Signature expired: {signed} is now earlier than {earliest} ({now} - {minutes} min.)"
            )));
        }
        let latest = now_ms.saturating_add(skew_ms);
        if self.moment.ms > latest {
            let (latest, minutes) = (written(latest), skew_ms / 60_000);
            return Err(Refusal::invalid(format!(
                "Signature not yet current: {signed} is still later than {latest} \
                 ({now} + {minutes} min.)"
            )));
        }
        Ok(())
    }

    /// Whether it covers what makes the request this one and no other, and is listed as it should be.
    pub(super) fn check_signed_headers(&self, headers: &Headers<'_>) -> Result<(), Refusal> {
        let names = || self.signed_headers.split(';');
        // Each once: a name that came a thousand times would be hashed a thousand times.
        if !names().zip(names().skip(1)).all(|(one, next)| one < next) {
            let message = "the signed headers must be listed in order, each once";
            return Err(Refusal::incomplete(message));
        }
        let signed = |wanted: &str| names().any(|name| name == wanted);
        if !signed("host") {
            return Err(unsigned("'Host' or ':authority'"));
        }
        for (name, shown) in
            [("x-amz-target", "'X-Amz-Target'"), ("x-amz-content-sha256", "'X-Amz-Content-Sha256'")]
        {
            if headers.has(name) && !signed(name) {
                return Err(unsigned(shown));
            }
        }
        Ok(())
    }
}

fn unsigned(header: &str) -> Refusal {
    Refusal::invalid(format!("{header} must be a 'SignedHeader' in the AWS Authorization."))
}

/// A hostile text, cut to a length that fits a message.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(100).collect()
}
