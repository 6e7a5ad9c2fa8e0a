//! `GetExecutionHistory`: the events of an execution as the service shows them.

use std::collections::VecDeque;
use std::ops::ControlFlow;

use everstep_api::protocol::{Error, timestamp};
use everstep_executions::Summary;
use serde_json::{Map, Value, json};

use super::describe_execution::find;
use super::{Answer, page};
use crate::args::Args;
use crate::histories::{Histories, id};
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
    let asked = Asked {
        from,
        reversed: args.flag("reverseOrder"),
        limit: args.page_size(),
        data: args.value("includeExecutionData").and_then(Value::as_bool).unwrap_or(true),
    };
    let Page { events, next, .. } = page(service, summary, asked).await?;
    let mut answer = json!({ "events": events });
    if let Some(next) = next {
        answer["nextToken"] = page::token(service, args, &next.to_be_bytes()).into();
    }
    Ok(answer)
}

/// Which events a page has: those from the one that `from` names, as far as there is room.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) from: Option<u32>,
    pub(crate) reversed: bool,
    pub(crate) limit: usize,
    /// With inputs and outputs.
    pub(crate) data: bool,
}

/// Reads a page when it is its turn.
pub(crate) async fn page(service: &Service, summary: Summary, asked: Asked) -> Result<Page, Error> {
    let histories = service.histories.clone();
    let page = service.history_turns.run(move || read(&histories, &summary, asked)).await?;
    page.map_err(engine_error)
}

/// Reads the steps that the page needs, and holds no more than the page.
fn read(
    histories: &Histories,
    summary: &Summary,
    asked: Asked,
) -> everstep_executions::Result<Page> {
    let mut page = Page::new(asked);
    let first = match asked {
        Asked { reversed: false, from, .. } => from.unwrap_or(0),
        // One more than fits says that there are more.
        Asked { from, limit, .. } => {
            let last = from.map_or_else(|| histories.last(summary), Ok)?;
            last.saturating_sub(u32::try_from(limit).unwrap_or(u32::MAX))
        }
    };
    let offer =
        |event| if id(&event) < first { ControlFlow::Continue(()) } else { page.offer(event) };
    histories.each_from(summary, first, offer)?;
    page.finish();
    Ok(page)
}

/// A page that is made while events pass by, oldest first.
pub(crate) struct Page {
    asked: Asked,
    pub(crate) events: VecDeque<Value>,
    bytes: usize,
    /// The id of the event that follows the page.
    pub(crate) next: Option<u32>,
}

impl Page {
    fn new(asked: Asked) -> Self {
        Self { asked, events: VecDeque::new(), bytes: 0, next: None }
    }

    /// Takes an event if it belongs to the page; breaks off when no later one does.
    fn offer(&mut self, event: Value) -> ControlFlow<()> {
        let id = id(&event);
        if self.asked.reversed {
            if self.asked.from.is_some_and(|from| id > from) {
                return ControlFlow::Break(());
            }
            self.push(event);
            // The newest that there is room for are kept.
            while self.events.len() > self.asked.limit || self.is_too_large() {
                self.next = self.pop_oldest();
            }
            return ControlFlow::Continue(());
        }
        if self.asked.from.is_some_and(|from| id < from) {
            return ControlFlow::Continue(());
        }
        if self.events.len() >= self.asked.limit || self.bytes > PAGE_BYTES_MAX {
            self.next = Some(id);
            return ControlFlow::Break(());
        }
        self.push(event);
        ControlFlow::Continue(())
    }

    fn push(&mut self, event: Value) {
        let event = as_answered(event, self.asked.data);
        self.bytes += size(&event);
        self.events.push_back(event);
    }

    /// Whether the page would be full without its oldest event.
    fn is_too_large(&self) -> bool {
        let oldest = self.events.front().map_or(0, size);
        self.events.len() > 1 && self.bytes - oldest > PAGE_BYTES_MAX
    }

    fn pop_oldest(&mut self) -> Option<u32> {
        let oldest = self.events.pop_front()?;
        self.bytes -= size(&oldest);
        Some(id(&oldest))
    }

    fn finish(&mut self) {
        if self.asked.reversed {
            self.events.make_contiguous().reverse();
        }
    }
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

    fn page_of(events: Vec<Value>, asked: Asked) -> (Vec<Value>, Option<u32>) {
        let mut page = Page::new(asked);
        let _ = events.into_iter().try_for_each(|event| page.offer(event));
        page.finish();
        (page.events.into(), page.next)
    }

    /// Pages of an execution with five events, by the ids they show.
    fn check(from: Option<u32>, reversed: bool, limit: usize, expected: (&[u64], Option<u32>)) {
        let events = (1..=5).map(|id| json!({ "id": id, "timestamp": 1500 })).collect();
        let (shown, next) = page_of(events, Asked { from, reversed, limit, data: true });
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
        let asked = Asked { from: None, reversed: false, limit: 100, data: true };
        let (shown, next) = page_of(events.clone(), asked);
        assert_eq!((shown.len(), next), (2, Some(3)));
        let (shown, next) = page_of(events.clone(), Asked { reversed: true, ..asked });
        assert_eq!((shown.len(), next), (2, Some(7)));
        let (shown, next) = page_of(events, Asked { data: false, ..asked });
        assert_eq!((shown.len(), next), (9, None));
        assert_eq!(shown[0]["d"], json!({ "name": "n" }));
    }
}
