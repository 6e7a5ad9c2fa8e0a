//! A signature in the query string: a presigned request.

use super::claim::{ALGORITHM, Claim, Scope, shortened};
use super::header_form::undated;
use super::query::{Query, SIGNATURE};
use super::{Moment, Refusal};

/// A week.
const LONGEST_S: i64 = 604_800;

pub(super) fn claim(query: &Query) -> Result<Claim, Refusal> {
    let algorithm = parameter(query, "X-Amz-Algorithm")?;
    if algorithm != ALGORITHM {
        let found = shortened(algorithm);
        return Err(Refusal::incomplete(format!("Unsupported AWS 'algorithm': '{found}'.")));
    }
    let date = parameter(query, "X-Amz-Date")?;
    Ok(Claim {
        scope: Scope::read(parameter(query, "X-Amz-Credential")?)?,
        signed_headers: parameter(query, "X-Amz-SignedHeaders")?.to_owned(),
        signature: parameter(query, SIGNATURE)?.to_owned(),
        moment: Moment::basic(date).ok_or_else(|| undated(date))?,
        expires_ms: Some(expires_s(parameter(query, "X-Amz-Expires")?)? * 1000),
    })
}

fn parameter<'a>(query: &'a Query, name: &str) -> Result<&'a str, Refusal> {
    let value = query.one(name).map_err(|()| {
        Refusal::incomplete(format!(
            "the query-string parameter {name} must be there once, and be text"
        ))
    })?;
    value.ok_or_else(|| {
        Refusal::incomplete(format!(
            "AWS query-string parameters must include '{name}'. Re-examine the query-string parameters."
        ))
    })
}

fn expires_s(text: &str) -> Result<i64, Refusal> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let seconds = text.parse::<i64>().ok().filter(|_| digits);
    let message = match seconds {
        Some(1..=LONGEST_S) => return Ok(seconds.unwrap_or_default()),
        Some(0) => "X-Amz-Expires must be at least one second",
        // Digits that are no number are a number too large.
        Some(_) => TOO_LONG,
        None if digits => TOO_LONG,
        None => "X-Amz-Expires should be a number",
    };
    Err(Refusal::incomplete(message))
}

const TOO_LONG: &str = "X-Amz-Expires must be less than a week (in seconds); that is, the given \
                        X-Amz-Expires must be less than 604800 seconds";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes() {
        let check = |text: &str, expected: Result<i64, &str>| {
            let found = expires_s(text).map_err(|refusal| refusal.message);
            assert_eq!(found, expected.map_err(str::to_owned), "{text}");
        };
        check("1", Ok(1));
        check("604800", Ok(604_800));
        check("604801", Err(TOO_LONG));
        check("99999999999999999999999", Err(TOO_LONG));
        check("0", Err("X-Amz-Expires must be at least one second"));
        for wrong in ["", "-1", "+5", "1.5", "x", "٣"] {
            check(wrong, Err("X-Amz-Expires should be a number"));
        }
    }
}
