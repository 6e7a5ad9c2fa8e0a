//! Lists, page by page.

use everstep_api::protocol::{Error, Name};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Answer;
use crate::args::Args;
use crate::catalog::{Entry, Order};
use crate::page_token::Listing;
use crate::service::Service;

/// A page of the rows of the catalog that begin with `prefix`, each shown, as the member `name` of the answer.
pub(super) fn of<T: DeserializeOwned>(
    service: &Service,
    args: Args<'_>,
    (prefix, order): (&str, Order),
    name: &str,
    show: impl Fn(&T) -> Value,
) -> Answer {
    let size = args.page_size();
    let last = last(service, args)?;
    let rows: Vec<Entry<T>> =
        service.catalog.list(prefix, order, last.as_deref(), size.saturating_add(1))?;
    let more = rows.len() > size;
    let shown = &rows[..rows.len().min(size)];
    let mut answer = json!({ name: shown.iter().map(|row| show(&row.value)).collect::<Vec<_>>() });
    if let Some(row) = shown.last().filter(|_| more) {
        answer["nextToken"] = token(service, args, row.key.as_bytes()).into();
    }
    Ok(answer)
}

/// The key of the last row of the previous page, if the request has a token.
pub(super) fn last(service: &Service, args: Args<'_>) -> Result<Option<String>, Error> {
    let Some(position) = position(service, args)? else { return Ok(None) };
    String::from_utf8(position).map(Some).map_err(|_| invalid(args))
}

/// The position of the request's token, if it has one.
pub(super) fn position(service: &Service, args: Args<'_>) -> Result<Option<Vec<u8>>, Error> {
    listing(args).position(service.now_ms()).map_err(|_| invalid(args))
}

pub(super) fn token(service: &Service, args: Args<'_>, position: &[u8]) -> String {
    listing(args).token(position, service.now_ms())
}

/// The message is the one that was recorded for task tokens.
pub(super) fn invalid(args: Args<'_>) -> Error {
    args.error(Name::InvalidToken, "Invalid Token: 'Invalid token'")
}

fn listing(args: Args<'_>) -> Listing<'_> {
    Listing { operation: args.operation.name(), request: args.body() }
}
