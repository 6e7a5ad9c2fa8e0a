//! Whatever the events, they come back; whatever the bytes, they are read or refused.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use minicbor::{Decoder, Encoder};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::{Attempt, Failure, FailureStage, FrameId, Payload};

/// Values of a field, for any event.
trait Any: Sized {
    fn any() -> BoxedStrategy<Self>;
}

macro_rules! any {
    ($($type:ty: $strategy:expr;)*) => {
        $(impl Any for $type {
            fn any() -> BoxedStrategy<Self> {
                $strategy.boxed()
            }
        })*
    };
}

any! {
    bool: proptest::bool::ANY;
    u32: prop_oneof![0..30_u32, proptest::num::u32::ANY];
    u64: prop_oneof![0..30_u64, proptest::num::u64::ANY];
    f64: proptest::num::f64::POSITIVE | proptest::num::f64::ZERO;
    i64: prop_oneof![1_700_000_000_000..1_700_000_000_300_i64, proptest::num::i64::ANY];
    FrameId: u32::any().prop_map(FrameId);
    Attempt: (FrameId::any(), u32::any()).prop_map(|(frame, number)| Attempt { frame, number });
    Arc<str>: prop_oneof!["[ab]?", ".*"].prop_map(Arc::from);
    Failure: (Option::any(), Option::any()).prop_map(|(error, cause)| Failure { error, cause });
    FailureStage: proptest::sample::select(vec![
        FailureStage::Run,
        FailureStage::Schedule,
        FailureStage::Start,
        FailureStage::Submit,
    ]);
    Payload: prop_oneof![
        proptest::sample::select(vec!["1", " 1 ", "{}", "{ \"a\": 1e3, \"a\": \"\\u00e9\" }"])
            .prop_map(|text| Payload::from_text(text).unwrap()),
        json_value().prop_map(Payload::new),
    ];
    Vec<(Arc<str>, Payload)>: proptest::collection::vec((Any::any(), Any::any()), 0..3);
}

impl<T: Any + fmt::Debug + 'static> Any for Option<T> {
    fn any() -> BoxedStrategy<Self> {
        proptest::option::of(T::any()).boxed()
    }
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        proptest::bool::ANY.prop_map(Value::from),
        proptest::num::i64::ANY.prop_map(Value::from),
        proptest::num::u64::ANY.prop_map(Value::from),
        proptest::num::f64::ANY.prop_map(Value::from),
        ".*".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::vec((".{0,3}", inner), 0..3)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

macro_rules! strategies {
    ($($number:literal $kind:ident { $($field:ident),* })*) => {
        /// Every kind of event, so that a new one is drawn too.
        fn event() -> impl Strategy<Value = Event> {
            let kinds = vec![$({
                $(let $field = Any::any();)*
                ($($field,)*).prop_map(|($($field,)*)| Event::$kind { $($field),* }).boxed()
            }),*];
            proptest::strategy::Union::new(kinds)
        }

        const KINDS: &[&str] = &[$(stringify!($kind)),*];
    };
}

table::table!(strategies);

fn texts(events: &[Event]) -> Vec<String> {
    // Debug shows values; that texts are kept is checked where they differ.
    events.iter().map(|event| format!("{event:?}")).collect()
}

proptest! {
    #[test]
    fn any_events_come_back(events in proptest::collection::vec(event(), 0..12)) {
        let record = encode(&events);
        let decoded = decode(&record).unwrap();
        prop_assert_eq!(texts(&decoded), texts(&events));
        prop_assert_eq!(&decoded, &events);
        prop_assert_eq!(encode(&decoded), record, "the same texts, shared in the same way");
    }

    #[test]
    fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        decode(&bytes).unwrap_err();
        drop(decode(&sealed(bytes)));
    }

    #[test]
    fn a_changed_record_is_refused_or_read(
        events in proptest::collection::vec(event(), 1..6),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut items = unsealed(&encode(&events));
        for (place, byte) in changes {
            let place = place.index(items.len());
            items[place] = byte;
        }
        drop(decode(&sealed(items)));
    }
}

/// The record without its checksum.
fn unsealed(record: &[u8]) -> Vec<u8> {
    record[..record.len() - 5].to_vec()
}

/// With a checksum that matches, whatever is before it.
fn sealed(mut items: Vec<u8>) -> Vec<u8> {
    items.push(0x44);
    let checksum = crc32fast::hash(&items);
    items.extend(checksum.to_be_bytes());
    items
}

/// Ten Pass states that hand on what they are given.
fn ten_states(payload: &Payload) -> Vec<Event> {
    let (at_ms, frame) = (1_700_000_000_000, FrameId::ROOT);
    let mut events = vec![Event::ExecutionStarted { at_ms, input: payload.clone() }];
    for state in 0..10 {
        let (input, output) = (payload.clone(), payload.clone());
        let next = (state < 9).then_some(state + 1);
        events.push(Event::StateEntered { frame, at_ms, state, input });
        events.push(Event::StateExited { frame, at_ms, output, assigned: vec![], next });
    }
    events.push(Event::ExecutionSucceeded { at_ms, output: payload.clone() });
    events
}

fn hundred_bytes() -> Payload {
    Payload::new(json!({ "text": "x".repeat(89) }))
}

/// A task that fails, is retried and fails for good.
fn failing() -> Vec<Event> {
    let failure = Failure::new("Boom", "it went wrong, and this is why");
    let attempt = Attempt { frame: FrameId(1), number: 3 };
    let (frame, at_ms) = (attempt.frame, 1_700_000_000_000);
    vec![
        Event::TaskFailed { attempt, at_ms, failure: failure.clone(), stage: FailureStage::Run },
        Event::RetryScheduled {
            frame,
            at_ms,
            retrier: 0,
            due_ms: at_ms + 2_000,
            failure: failure.clone(),
        },
        Event::StateFailed {
            frame,
            at_ms: at_ms + 2_000,
            failure: failure.clone(),
            retrier: Some(0),
            catcher: None,
        },
        Event::ExecutionFailed { at_ms: at_ms + 2_000, failure },
    ]
}

#[test]
fn a_record_is_small() {
    let payload = hundred_bytes();
    assert_eq!(payload.as_text().len(), 100);
    let record = encode(&ten_states(&payload));
    assert_eq!(record.len(), 203, "100 of payload, 4 to 5 for an event");
    assert_eq!(encode(&failing()).len(), 89);
}

#[test]
fn equal_texts_are_stored_once() {
    let payload = hundred_bytes();
    let mut events = ten_states(&payload);
    for event in &mut events {
        if let Event::StateExited { output, .. } = event {
            *output = Payload::new(output.value().clone());
        }
    }
    assert_eq!(encode(&events), encode(&ten_states(&payload)));
}

#[test]
fn texts_are_kept_as_they_were_given() {
    let given = "{ \"b\": 1.0e1,\n \"a\": \"\\u00e9\" }";
    let record = encode(&ten_states(&Payload::from_text(given).unwrap()));
    let decoded = decode(&record).unwrap();
    let Event::ExecutionSucceeded { output, .. } = &decoded[21] else { panic!("{decoded:?}") };
    assert_eq!(output.as_text(), given);
    let Event::StateEntered { input, .. } = &decoded[1] else { panic!("{decoded:?}") };
    assert!(input.is_same(output), "and shared again");
}

#[test]
fn every_flipped_bit_is_found() {
    for events in [ten_states(&hundred_bytes()), failing(), vec![]] {
        let record = encode(&events);
        assert_eq!(decode(&record), Ok(events));
        for bit in 0..record.len() * 8 {
            let mut flipped = record.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(decode(&flipped), Err(Error::Damaged { .. })), "bit {bit}");
        }
        for length in 0..record.len() {
            assert!(matches!(decode(&record[..length]), Err(Error::Damaged { .. })), "{length}");
        }
    }
}

/// Items of a record after the version, and what is said of them.
fn check_refused(items: impl FnOnce(&mut Encoder<Vec<u8>>), expected: &str) {
    let mut encoder = Encoder::new(vec![1]);
    items(&mut encoder);
    let error = decode(&sealed(encoder.into_writer())).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

fn damaged(what: &str) -> String {
    format!("the journal record is damaged: {what}; restore it from a backup")
}

fn newer(what: &str) -> String {
    format!(
        "the journal record was written by a newer everstep: {what}; use that version or a later one"
    )
}

#[test]
fn another_version_is_named() {
    let record = sealed(vec![2, 0, 0x80]);
    assert_eq!(decode(&record), Err(Error::UnknownVersion { found: 2, known: 1 }));
    assert_eq!(
        decode(&record).unwrap_err().to_string(),
        "the journal record has format version 2 and this everstep reads up to 1: \
         use the everstep that wrote it"
    );
}

#[test]
fn what_a_newer_engine_wrote_is_called_so() {
    fn one_event(fields: u64) -> impl Fn(&mut Encoder<Vec<u8>>) {
        move |encoder| {
            encoder.i64(0).unwrap().array(1).unwrap().array(fields).unwrap();
        }
    }
    let kind = KINDS.len() as u64 + 1;
    check_refused(
        |encoder| {
            one_event(1)(encoder);
            encoder.u64(kind).unwrap();
        },
        &newer(&format!("event kind {kind} at byte 6")),
    );
    check_refused(
        |encoder| {
            one_event(4)(encoder);
            encoder.u8(30).unwrap().u8(0).unwrap().str("more").unwrap().null().unwrap();
        },
        &newer("2 unknown fields at byte 7"),
    );
    check_refused(
        |encoder| {
            one_event(4)(encoder);
            encoder.u8(8).unwrap().array(0).unwrap().array(0).unwrap().u8(4).unwrap();
        },
        &newer("failure stage 4 at byte 8"),
    );
}

#[test]
fn an_older_record_may_end_early() {
    let record = sealed(vec![1, 5, 0x81, 0x81, 0x18, 30]);
    assert_eq!(decode(&record), Ok(vec![Event::ExecutionTimedOut { at_ms: 5 }]));
}

#[test]
fn what_is_malformed_is_refused() {
    let check = |items: &[u8], expected: &str| {
        check_refused(|encoder| encoder.writer_mut().extend(items), &damaged(expected));
    };
    check(&[], "end of input bytes at byte 1");
    check(&[0, 0x80, 0], "more than the events at byte 3");
    check(&[0, 0x81, 0x80], "an event is empty at byte 4");
    check(&[0, 0x81, 0x81, 1], "the field `input` is missing at byte 5");
    check(&[0, 0x81, 0x82, 1, 0], "text 0 was not seen before at byte 6");
    check(
        &[0, 0x81, 0x82, 1, 0x61, b'x'],
        "a payload is not JSON (expected value at line 1 column 1) at byte 7",
    );
    check(&[0, 0x81, 0x85, 3, 0x61, b'1', 0xf6, 0, 0x81], "a variable without a value at byte 10");
    check(&[0, 0x9f], "an array without a length at byte 3");
}

#[test]
fn a_great_length_allocates_nothing() {
    for length in [u64::from(u32::MAX), u64::MAX, 1 << 40] {
        let refused = |prefix: &[u8], head: u8| {
            let mut items = prefix.to_vec();
            items.push(head);
            items.extend(length.to_be_bytes());
            let error = decode(&sealed(items)).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{error}");
        };
        refused(&[1, 0], 0x9b);
        refused(&[1, 0, 0x81], 0x9b);
        refused(&[1, 0, 0x81, 0x82, 1], 0x7b);
        refused(&[1, 0, 0x81, 0x85, 3, 0x61, b'1', 0xf6, 0], 0x9b);
    }
}

#[test]
fn computed_values_may_nest_deeper_than_given_ones() {
    let nested = |depth| (0..depth).fold(json!(1), |inner, _| json!([inner]));
    let events = ten_states(&Payload::new(nested(1_000)));
    assert_eq!(decode(&encode(&events)), Ok(events));
    let record = encode(&ten_states(&Payload::new(nested(1_001))));
    let error = decode(&record).unwrap_err().to_string();
    assert!(error.contains("nested more than 1000 levels deep"), "{error}");
}

/// Journals of real runs, as earlier versions recorded them: byte strings, each a record. These
/// files are never written again, for they stand for what users have on their disks; new ones are
/// added beside them.
#[test]
fn recorded_journals_are_read_for_ever() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/journals/v1");
    let mut seen = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "cbor") {
            let expected = std::fs::read_to_string(path.with_extension("txt")).unwrap();
            assert_eq!(shown(&std::fs::read(&path).unwrap()), expected, "{}", path.display());
            seen.extend(
                expected.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)),
            );
        }
    }
    let unseen: Vec<_> = KINDS.iter().filter(|kind| !seen.contains(**kind)).collect();
    assert!(unseen.is_empty(), "record a journal with {unseen:?}");
}

/// A line for each event, and an empty one between records.
fn shown(journal: &[u8]) -> String {
    let mut decoder = Decoder::new(journal);
    let mut records = Vec::new();
    while decoder.position() < journal.len() {
        let events = decode(decoder.bytes().unwrap()).unwrap();
        records.push(texts(&events).into_iter().map(|line| line + "\n").collect::<String>());
    }
    records.join("\n")
}
