//! Lists, page by page. A token is the key of the last row shown and the moment it was given out; it can be
//! used for a day, for the list that it came from.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use everstep_api::protocol::{Error, Name};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Answer;
use crate::args::Args;
use crate::catalog::{Entry, Order};
use crate::service::Service;

const TOKEN_LASTS_MS: i64 = 24 * 60 * 60 * 1000;

/// A page of the rows that begin with `prefix`, each shown, as the member `name` of the answer.
pub(super) fn of<T: DeserializeOwned>(
    service: &Service,
    args: Args<'_>,
    (prefix, order): (&str, Order),
    name: &str,
    show: impl Fn(&T) -> Value,
) -> Answer {
    let size = args.page_size();
    let last = last(service, args, prefix)?;
    let rows: Vec<Entry<T>> =
        service.catalog.list(prefix, order, last.as_deref(), size.saturating_add(1))?;
    let more = rows.len() > size;
    let shown = &rows[..rows.len().min(size)];
    let mut answer = json!({ name: shown.iter().map(|row| show(&row.value)).collect::<Vec<_>>() });
    if let Some(row) = shown.last().filter(|_| more) {
        answer["nextToken"] = token(service, &row.key).into();
    }
    Ok(answer)
}

/// Where the last page ended, if the request goes on from one.
pub(super) fn last(
    service: &Service,
    args: Args<'_>,
    prefix: &str,
) -> Result<Option<String>, Error> {
    let Some(token) = args.text("nextToken") else { return Ok(None) };
    // The words are those recorded for task tokens.
    let invalid = || args.error(Name::InvalidToken, "Invalid Token: 'Invalid token'");
    let (at_ms, key) = opened(token).ok_or_else(invalid)?;
    let age = service.now_ms().saturating_sub(at_ms);
    let good = age < TOKEN_LASTS_MS && key.starts_with(prefix);
    if good { Ok(Some(key)) } else { Err(invalid()) }
}

pub(super) fn token(service: &Service, key: &str) -> String {
    URL_SAFE_NO_PAD.encode(format!("{} {key}", service.now_ms()))
}

fn opened(token: &str) -> Option<(i64, String)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(token).ok()?).ok()?;
    let (at_ms, key) = text.split_once(' ')?;
    Some((at_ms.parse().ok()?, key.to_owned()))
}
