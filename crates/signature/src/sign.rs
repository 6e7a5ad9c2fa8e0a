//! Signing a request, in its headers.

use std::fmt;

use crate::canonical::{self, hashed};
use crate::claim::{ALGORITHM, Scope};
use crate::headers::Headers;
use crate::moment::{Moment, written};
use crate::query::Query;
use crate::{Request, signature};

/// Who signs. Shown, it is the key's id.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    pub access_key_id: String,
    pub secret_access_key: String,
    /// Of keys that are good for a while only.
    pub session_token: Option<String>,
}

/// Who signs, and for what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signing {
    pub credentials: Credentials,
    pub region: String,
    /// As in the credential scope: `states`, `lambda`.
    pub service: String,
}

/// A request that cannot be signed, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unsignable(&'static str);

/// Proxies change these, or add them.
const UNSIGNED: [&str; 5] =
    ["authorization", "expect", "transfer-encoding", "user-agent", "x-amzn-trace-id"];

impl Signing {
    /// The headers that the request must carry besides its own: the date, the session token if there is
    /// one, and the signature. All headers that the request has are signed, but those that change on
    /// the way; a date and a token that it has already are signed as they are.
    pub fn sign(
        &self,
        request: &Request<'_>,
        now_ms: i64,
    ) -> Result<Vec<(&'static str, String)>, Unsignable> {
        let mut added = Vec::new();
        let own = Headers::index(request.headers);
        let date = match own.one("x-amz-date") {
            Ok(Some(text)) => text.to_owned(),
            Ok(None) => {
                added.push(("x-amz-date", written(now_ms)));
                written(now_ms)
            }
            Err(()) => return Err(Unsignable("the header x-amz-date must be there once")),
        };
        let moment = Moment::basic(&date)
            .ok_or(Unsignable("the header x-amz-date must be like 20150830T123600Z"))?;
        if let Some(token) = &self.credentials.session_token
            && !own.has("x-amz-security-token")
        {
            added.push(("x-amz-security-token", token.clone()));
        }
        let authorization = self.authorization(request, &added, moment)?;
        added.push(("authorization", authorization));
        Ok(added)
    }

    fn authorization(
        &self,
        request: &Request<'_>,
        added: &[(&'static str, String)],
        moment: Moment,
    ) -> Result<String, Unsignable> {
        let added = added.iter().map(|(name, value)| (*name, value.as_bytes()));
        let all: Vec<_> = request.headers.iter().copied().chain(added).collect();
        let headers = Headers::index(&all);
        if !headers.has("host") {
            return Err(Unsignable("it has no Host header"));
        }
        let names: Vec<_> = headers.names().filter(|name| !UNSIGNED.contains(name)).collect();
        let names = names.join(";");
        let query = Query::read(request.query)
            .map_err(|_| Unsignable("its query has a '%' that no two hexadecimal digits follow"))?;
        let payload = hashed(request.body);
        let canonical = canonical::request(request, &headers, &query, &names, &payload)
            .expect("the names are those of the headers");
        let key_id = &self.credentials.access_key_id;
        let scope = Scope::new(key_id, &moment, &self.region, &self.service);
        let secret = &self.credentials.secret_access_key;
        let signature = signature::sign(secret, &scope, &moment, &canonical);
        Ok(format!(
            "{ALGORITHM} Credential={key_id}/{}, SignedHeaders={names}, Signature={signature}",
            scope.signed()
        ))
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Credentials").field(&self.access_key_id).finish()
    }
}

impl fmt::Display for Unsignable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the request cannot be signed: {}", self.0)
    }
}

impl std::error::Error for Unsignable {}
