//! `GetExecutionHistory`: the events of an execution as the service shows them.

use everstep_api::protocol::timestamp;
use everstep_executions::{Reader, Summary};
use everstep_interpreter::aws_history;
use serde_json::{Map, Value, json};

use super::describe_execution::find;
use super::{Answer, page};
use crate::args::Args;
use crate::service::{Service, engine_error};

/// A page ends early when its events are larger than this together.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

pub(super) async fn run(service: &Service, args: Args<'_>) -> Answer {
    let summary = find(service, args, args.required("executionArn"))?;
    let from = match page::position(service, args)? {
        None => None,
        Some(place) => {
            let id = place.try_into().map_err(|_| page::invalid(args))?;
            Some(u32::from_be_bytes(id))
        }
    };
    let reader = service.reader.clone();
    let projected = tokio::task::spawn_blocking(move || projected(&reader, &summary)).await;
    let events = projected
        .unwrap_or_else(|panicked| std::panic::resume_unwind(panicked.into_panic()))
        .map_err(engine_error)?;
    let reversed = args.flag("reverseOrder");
    let data = args.value("includeExecutionData").and_then(Value::as_bool).unwrap_or(true);
    let (shown, next) = page_of(events, from, reversed, args.page_size(), data);
    let mut answer = json!({ "events": shown });
    if let Some(next) = next {
        answer["nextToken"] = page::token(service, args, &next.to_be_bytes()).into();
    }
    Ok(answer)
}

fn projected(reader: &Reader, summary: &Summary) -> everstep_executions::Result<Vec<Value>> {
    let prepared = reader.prepared(summary)?;
    let events = reader.events(summary.id())?;
    Ok(aws_history::project(&prepared.program, &prepared.identity(&summary.arn), &events))
}

/// Some events, beginning with the one that `from` names, and the id of the one that follows them.
fn page_of(
    events: Vec<Value>,
    from: Option<u32>,
    reversed: bool,
    limit: usize,
    data: bool,
) -> (Vec<Value>, Option<u32>) {
    let id =
        |event: &Value| event["id"].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    let ordered: Box<dyn Iterator<Item = Value>> =
        if reversed { Box::new(events.into_iter().rev()) } else { Box::new(events.into_iter()) };
    let before = |event: &Value| {
        from.is_some_and(|from| if reversed { id(event) > from } else { id(event) < from })
    };
    let mut rest = ordered.skip_while(before).peekable();
    let (mut shown, mut bytes) = (Vec::new(), 0);
    while shown.len() < limit
        && (bytes <= PAGE_BYTES_MAX)
        && let Some(event) = rest.next()
    {
        let event = as_answered(event, data);
        bytes += size(&event);
        shown.push(event);
    }
    (shown, rest.peek().map(id))
}

/// With the time as the protocol has it, and without data if none is wanted.
fn as_answered(mut event: Value, data: bool) -> Value {
    if let Some(ms) = event["timestamp"].as_i64() {
        event["timestamp"] = Value::Number(timestamp(ms));
    }
    if !data && let Some(members) = event.as_object_mut() {
        members.values_mut().filter_map(Value::as_object_mut).for_each(strip);
    }
    event
}

fn strip(details: &mut Map<String, Value>) {
    const DATA: [&str; 4] = ["input", "inputDetails", "output", "outputDetails"];
    details.retain(|name, _| !DATA.contains(&name.as_str()));
}

/// About as many bytes as it is written with.
fn size(event: &Value) -> usize {
    match event {
        Value::String(text) => text.len(),
        Value::Object(members) => members.values().map(|member| size(member) + 16).sum(),
        _ => 8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of an execution with five events, by the ids they show.
    fn check(from: Option<u32>, reversed: bool, limit: usize, expected: (&[u64], Option<u32>)) {
        let events = (1..=5).map(|id| json!({ "id": id, "timestamp": 1500 })).collect();
        let (shown, next) = page_of(events, from, reversed, limit, true);
        let ids: Vec<u64> = shown.iter().filter_map(|event| event["id"].as_u64()).collect();
        assert_eq!((ids.as_slice(), next), expected);
        assert!(shown.iter().all(|event| event["timestamp"] == json!(1.5)));
    }

    #[test]
    fn pages() {
        check(None, false, 100, (&[1, 2, 3, 4, 5], None));
        check(None, false, 2, (&[1, 2], Some(3)));
        check(Some(3), false, 3, (&[3, 4, 5], None));
        check(None, true, 2, (&[5, 4], Some(3)));
        check(Some(3), true, 2, (&[3, 2], Some(1)));
        check(Some(9), false, 2, (&[], None));
    }

    #[test]
    fn large_events_make_short_pages() {
        let input = "x".repeat(PAGE_BYTES_MAX / 2);
        let event = |id: u32| json!({ "id": id, "d": { "input": input, "name": "n" } });
        let events: Vec<Value> = (1..=9).map(event).collect();
        let (shown, next) = page_of(events.clone(), None, false, 100, true);
        assert_eq!((shown.len(), next), (2, Some(3)));
        let (shown, next) = page_of(events, None, false, 100, false);
        assert_eq!((shown.len(), next), (9, None));
        assert_eq!(shown[0]["d"], json!({ "name": "n" }));
    }
}
