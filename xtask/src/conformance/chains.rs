//! Pairs the events of two histories.
//!
//! Where branches can interleave, ids and order are not fixed, only what follows what: two
//! histories agree if their trees by `previousEventId` agree. Where the recorder zeroed the ids
//! inside Parallel states, only those outside can be placed and the rest is a heap of events.

use serde_json::Value;

use super::events::{Event, previous};
use super::placeholders::Bindings;
use super::values::{Difference, Matcher};

/// Branches as alike as to need more attempts than this do not occur in recordings.
const ATTEMPTS_MAX: usize = 1_000_000;
/// The start of the types of the events that the recorder lost.
const LOST: &str = "ParallelState";

/// How the events of a recording find theirs in a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pairing {
    /// One after the other, ids included.
    Order,
    /// By what they follow.
    Chains,
    /// By id where there is one, anywhere else where there is none; some were lost.
    Heap,
}

impl Pairing {
    pub(super) fn of(expected: &Value) -> Self {
        if expected["historyNormalised"] == true {
            Self::Heap
        } else if interleaves(&expected["history"]) {
            Self::Chains
        } else {
            Self::Order
        }
    }
}

/// Whether a Map has several iterations in this history or a Parallel several branches.
fn interleaves(history: &Value) -> bool {
    let events: Vec<&Value> = history.as_array().into_iter().flatten().collect();
    let following = |id: &Value, kind: &str| {
        let follows = |event: &&&Value| event["previousEventId"] == *id;
        events
            .iter()
            .filter(follows)
            .filter(|event| kind.is_empty() || event["type"] == kind)
            .count()
    };
    events.iter().any(|event| match event["type"].as_str() {
        Some("ParallelStateStarted") => following(&event["id"], "") > 1,
        Some("MapStateStarted") => {
            event["mapStateStartedEventDetails"]["length"].as_u64() > Some(1)
                && following(&event["id"], "MapIterationStarted") > 0
        }
        _ => false,
    })
}

pub(super) fn compare(
    pairing: Pairing,
    expected: &[Event],
    found: &[Event],
    matcher: &mut Matcher<'_>,
) -> Result<(), String> {
    if pairing == Pairing::Order {
        for (index, event) in expected.iter().enumerate() {
            let other = found.get(index).ok_or_else(|| missing(event, found.len()))?;
            let ids = in_order((expected, index), (found, index));
            ids.and_then(|()| event.compare(other, matcher)).map_err(|d| describe(event, &d))?;
        }
    } else {
        numbered(found)?;
        Search { pairing, expected, found, attempts: 0 }.run(matcher)?;
    }
    surplus(pairing, expected, found)
}

fn in_order(expected: (&[Event], usize), found: (&[Event], usize)) -> Result<(), Difference> {
    let [wanted, id] = [expected, found].map(|(events, index)| events[index].id);
    if wanted != id {
        return Err(Difference::new(wanted, id).below("id"));
    }
    let [wanted, id] = [expected, found].map(|(events, index)| previous(events, index));
    if wanted != id {
        return Err(Difference::new(wanted, id).below("previousEventId"));
    }
    Ok(())
}

/// Ids count from 1 without gaps, and no event follows a later one.
fn numbered(found: &[Event]) -> Result<(), String> {
    for (event, id) in found.iter().zip(1..) {
        if event.id != id {
            let difference = Difference::new(id, event.id).below("id");
            return Err(describe(event, &difference));
        }
        if event.previous >= id {
            let wanted = format!("less than {id}");
            let difference = Difference::new(wanted, event.previous).below("previousEventId");
            return Err(describe(event, &difference));
        }
    }
    Ok(())
}

/// What is left when each recorded event has found its own.
fn surplus(pairing: Pairing, expected: &[Event], found: &[Event]) -> Result<(), String> {
    let last = match pairing {
        Pairing::Heap => expected.last().map_or(0, |event| event.id),
        Pairing::Order | Pairing::Chains => expected.len() as u64,
    };
    let count = found.len() as u64;
    if count == last {
        Ok(())
    } else {
        Err(format!("history: expected {last} events, found {count}"))
    }
}

fn describe(event: &Event, difference: &Difference) -> String {
    let place = match event.id {
        0 => "an event inside Parallel".to_owned(),
        id => format!("event {id}"),
    };
    format!("{place} {}, {difference}", event.kind())
}

fn missing(event: &Event, count: usize) -> String {
    let found = format_args!("only {count} events");
    describe(event, &Difference::new(event.kind(), found).below("type"))
}

struct Search<'e> {
    pairing: Pairing,
    expected: &'e [Event],
    found: &'e [Event],
    attempts: usize,
}

/// A recorded event's place in the search: what it was paired with, what was bound before.
struct Choice {
    index: usize,
    bindings: Bindings,
}

impl Search<'_> {
    /// Depth first, without recursion: histories can be long.
    fn run(&mut self, matcher: &mut Matcher<'_>) -> Result<(), String> {
        let mut chosen: Vec<Choice> = Vec::new();
        let mut from = 0;
        // The difference that was met furthest into the history tells most.
        let mut furthest: Option<(usize, String)> = None;
        while chosen.len() < self.expected.len() {
            let at = chosen.len();
            let bindings = matcher.bindings.clone();
            match self.next(&chosen, from, matcher) {
                Ok(index) => {
                    chosen.push(Choice { index, bindings });
                    from = 0;
                }
                Err(difference) => {
                    if furthest.as_ref().is_none_or(|(depth, _)| at > *depth) {
                        furthest = Some((at, difference));
                    }
                    match chosen.pop() {
                        Some(choice) if self.attempts < ATTEMPTS_MAX => {
                            matcher.bindings = choice.bindings;
                            from = choice.index + 1;
                        }
                        _ => return Err(furthest.map(|(_, d)| d).unwrap_or_default()),
                    }
                }
            }
        }
        self.lost(&chosen)
    }

    /// The first event from `from` on that can be the one after those chosen.
    fn next(
        &mut self,
        chosen: &[Choice],
        from: usize,
        matcher: &mut Matcher<'_>,
    ) -> Result<usize, String> {
        let event = &self.expected[chosen.len()];
        let follows = self.paired(chosen, previous(self.expected, chosen.len()));
        let mut nearest: Option<Difference> = None;
        for index in from..self.found.len() {
            if !self.may_pair(event, follows, index) || chosen.iter().any(|c| c.index == index) {
                continue;
            }
            self.attempts += 1;
            let before = matcher.bindings.clone();
            let Err(difference) = event.compare(&self.found[index], matcher) else {
                return Ok(index);
            };
            matcher.bindings = before;
            if nearest.is_none() || self.found[index].kind() == event.kind() {
                nearest = Some(difference);
            }
        }
        let none = || Difference::new(event.kind(), "no event in its place").below("type");
        Err(describe(event, &nearest.unwrap_or_else(none)))
    }

    fn may_pair(&self, event: &Event, follows: u64, index: usize) -> bool {
        let other = &self.found[index];
        match self.pairing {
            Pairing::Order | Pairing::Chains => follows == previous(self.found, index),
            Pairing::Heap if event.id != 0 => {
                event.id == other.id && event.previous == other.previous
            }
            Pairing::Heap => self.expected.iter().all(|outside| outside.id != other.id),
        }
    }

    /// The id of what the recorded event `id` was paired with.
    fn paired(&self, chosen: &[Choice], id: u64) -> u64 {
        if id == 0 {
            return 0;
        }
        let position = self.expected.iter().position(|event| event.id == id);
        let choice = position.and_then(|position| chosen.get(position));
        choice.map_or(u64::MAX, |choice| self.found[choice.index].id)
    }

    /// What the recording does not have can only be what the recorder lost.
    fn lost(&self, chosen: &[Choice]) -> Result<(), String> {
        if self.pairing != Pairing::Heap {
            return Ok(());
        }
        let left = (0..self.found.len()).filter(|i| chosen.iter().all(|c| c.index != *i));
        match left.map(|index| &self.found[index]).find(|event| !event.kind().starts_with(LOST)) {
            Some(event) => {
                Err(describe(event, &Difference::new("no such event", event.kind()).below("type")))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::events;
    use super::super::placeholders::Placeholders;
    use super::*;

    /// Events written as `id<previous type`.
    fn history(text: &str) -> Value {
        text.split(", ")
            .map(|event| {
                let (ids, kind) = event.split_once(' ').expect("ids and a type");
                let (id, previous) = ids.split_once('<').expect("two ids");
                let [id, previous] = [id, previous].map(|id| id.parse::<u64>().expect("a number"));
                json!({ "id": id, "previousEventId": previous, "type": kind })
            })
            .collect()
    }

    /// `expected` is the first line of the difference.
    fn check(pairing: Pairing, recorded: &str, found: &str, expected: Option<&str>) {
        let placeholders = Placeholders::default();
        let mut matcher = Matcher::new(&placeholders, true);
        let recorded = events::recorded(&json!({ "history": history(recorded) }));
        let recorded = recorded.expect("events").expect("a history");
        let found = events::found(history(found).as_array().expect("a list")).expect("events");
        let difference = compare(pairing, &recorded, &found, &mut matcher).err();
        let line = difference.as_deref().and_then(|difference| difference.lines().next());
        assert_eq!(line, expected);
    }

    const FORK: &str = "1<0 A, 2<1 B, 3<1 C, 4<2 D, 5<3 E";

    #[test]
    fn in_order_ids_count() {
        check(Pairing::Order, FORK, FORK, None);
        let other = "1<0 A, 2<1 C, 3<1 B, 4<2 D, 5<3 E";
        check(Pairing::Order, FORK, other, Some("event 2 B, type"));
        check(Pairing::Order, "1<0 A, 2<1 B", "1<0 A, 2<0 B", Some("event 2 B, previousEventId"));
        check(Pairing::Order, "1<0 A, 2<1 B", "1<0 A, 3<1 B", Some("event 2 B, id"));
        check(Pairing::Order, "1<0 A, 2<1 B", "1<0 A", Some("event 2 B, type"));
        let longer = "1<0 A, 2<1 B";
        check(Pairing::Order, "1<0 A", longer, Some("history: expected 1 events, found 2"));
    }

    #[test]
    fn chains_may_interleave() {
        check(Pairing::Chains, FORK, "1<0 A, 2<1 C, 3<1 B, 4<3 D, 5<2 E", None);
        let crossed = "1<0 A, 2<1 B, 3<1 C, 4<3 D, 5<2 E";
        check(Pairing::Chains, FORK, crossed, Some("event 4 D, type"));
        let gap = "1<0 A, 2<1 B, 3<1 C, 4<2 D, 6<3 E";
        check(Pairing::Chains, FORK, gap, Some("event 6 E, id"));
        let ahead = "1<0 A, 2<3 B, 3<1 C, 4<2 D, 5<3 E";
        check(Pairing::Chains, FORK, ahead, Some("event 2 B, previousEventId"));
    }

    #[test]
    fn like_branches_are_told_apart_by_what_follows() {
        let recorded = "1<0 A, 2<1 B, 3<1 B, 4<2 C, 5<3 D";
        check(Pairing::Chains, recorded, "1<0 A, 2<1 B, 3<1 B, 4<3 C, 5<2 D", None);
        let both = "1<0 A, 2<1 B, 3<1 B, 4<3 C, 5<3 D";
        check(Pairing::Chains, recorded, both, Some("event 5 D, type"));
    }

    #[test]
    fn a_heap_has_no_order_and_lost_one() {
        let recorded = "1<0 A, 0<0 C, 0<0 B, 5<3 D";
        check(Pairing::Heap, recorded, "1<0 A, 2<1 B, 3<1 C, 4<3 ParallelStateFailed, 5<3 D", None);
        let place = "an event inside Parallel B, type";
        let other = "1<0 A, 2<1 C, 3<1 C, 4<3 ParallelStateFailed, 5<3 D";
        check(Pairing::Heap, recorded, other, Some(place));
        let surplus = "1<0 A, 2<1 B, 3<1 C, 4<3 E, 5<3 D";
        check(Pairing::Heap, recorded, surplus, Some("event 4 E, type"));
        let outside = "1<0 A, 2<1 B, 3<1 C, 4<3 ParallelStateFailed, 5<4 D";
        check(Pairing::Heap, recorded, outside, Some("event 5 D, type"));
    }

    #[test]
    fn pairing_is_read_off_the_recording() {
        let of = |expected: Value| Pairing::of(&expected);
        let map = |length: u64| {
            json!({ "history": [
                { "id": 1, "previousEventId": 0, "type": "MapStateStarted",
                  "mapStateStartedEventDetails": { "length": length } },
                { "id": 2, "previousEventId": 1, "type": "MapIterationStarted" },
            ] })
        };
        assert_eq!(of(map(1)), Pairing::Order);
        assert_eq!(of(map(2)), Pairing::Chains);
        let parallel = "1<0 ParallelStateStarted, 2<1 PassStateEntered";
        assert_eq!(of(json!({ "history": history(parallel) })), Pairing::Order);
        let parallel = format!("{parallel}, 3<1 PassStateEntered");
        assert_eq!(of(json!({ "history": history(&parallel) })), Pairing::Chains);
        assert_eq!(of(json!({ "historyNormalised": true })), Pairing::Heap);
        assert_eq!(of(json!({ "history": null })), Pairing::Order);
    }
}
