//! What was written once is read for ever.

use std::fs;
use std::path::PathBuf;

use everstep_retry::{Class, Delay, Jitter, Policy, Rule};

use crate::invocation::{Event, Invocation};
use crate::{
    AttemptId, Attempts, Edge, EdgeInput, Failure, Interrupted, InvocationId, RetryMetadata,
    Source, SourceKind, State, Target, Terms,
};

/// An invocation with something in each of its fields.
fn sample() -> Invocation {
    let rule = Rule {
        errors: vec!["Error.ALL".to_owned()],
        retries_max: Some(3),
        delay: Delay::Exponential {
            base_ms: 100,
            rate: 1.1,
            max_ms: Some(9000),
            jitter: Jitter::UpTo(0.3),
        },
    };
    let source = Source {
        message_id: Some("m-1".to_owned()),
        partition: Some("0".to_owned()),
        offset: Some("99".to_owned()),
        delivery_count: Some(2),
        depth: 3,
        ..Source::new(SourceKind::Queue, "orders")
    };
    let terms = Terms {
        arn: "arn:aws:lambda:us-east-2:123456789012:function:f".to_owned(),
        policy: Policy { rules: vec![rule], non_retryable: vec!["ValidationError".to_owned()] },
        interrupted: Interrupted::Repeat { most: 5 },
        on_success: vec![Target::from("queue:done")],
        on_failure: vec![Target::from("function:handler")],
        next: vec![Edge { function: "abort".to_owned(), input: EdgeInput::Error }],
        retry_metadata: RetryMetadata::Unum,
        dead_letters: true,
    };
    let mut invocation = Invocation {
        id: InvocationId::drawn([1, 2]),
        function: "f".to_owned(),
        version: "7".to_owned(),
        source,
        key: Some("m-1".to_owned()),
        accepted_ms: 1_700_000_000_000,
        expires_ms: Some(1_700_000_060_000),
        terms,
        state: State::Accepted,
        attempts: Attempts::default(),
        retries: Vec::new(),
        interruptions: 1,
        throttled: 2,
        throttled_in_a_row: 1,
        ended_ms: None,
        undelivered: Vec::new(),
        dead: false,
        session: Some(InvocationId::drawn([3, 4])),
        step: 2,
        redriven_from: Some(InvocationId::drawn([5, 6])),
        redriven_as: None,
        wake_ms: Some(1_700_000_000_000),
    };
    let at_ms = 1_700_000_000_500;
    let failure = Failure {
        stack: vec!["a".to_owned(), "b".to_owned()],
        ..Failure::new("E", Class::Timeout, "é")
    };
    let events = [
        Event::AttemptStarted { attempt: AttemptId::drawn([7, 8]), at_ms },
        Event::AttemptFailed { failure, worker_pid: Some(42), interrupted: false, at_ms },
        Event::RetryScheduled { rule: 0, delay_ms: 110, due_ms: at_ms + 110 },
    ];
    events.iter().for_each(|event| invocation.apply(event));
    invocation
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.trim().bytes().collect();
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).expect("text"), 16);
    digits.chunks(2).map(|digits| pair(digits).expect("hexadecimal")).collect()
}

#[test]
fn a_record_of_the_first_version_is_read_and_written() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/invocations");
    let file = folder.join("record-1.hex");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&file, hex(&sample().encoded()) + "\n").expect("written");
    }
    let stored = bytes(&fs::read_to_string(&file).expect("a record"));
    assert_eq!(Invocation::decode(&stored), Ok(sample()));
    assert_eq!(hex(&sample().encoded()), hex(&stored));
}

#[test]
fn every_state_comes_back() {
    let at_ms = 1_700_000_000_900;
    let ends = [
        Event::AttemptStarted { attempt: AttemptId::drawn([9, 9]), at_ms },
        Event::InvocationSucceeded { worker_pid: None, at_ms },
        Event::InvocationExhausted { reason: crate::Reason::InterruptionsExhausted, at_ms },
        Event::InvocationExpired { at_ms },
        Event::InvocationCancelled { at_ms },
        Event::InvocationParked { at_ms },
    ];
    for end in ends {
        let mut invocation = sample();
        invocation.apply(&end);
        assert_eq!(Invocation::decode(&invocation.encoded()), Ok(invocation));
    }
}

#[test]
fn bytes_that_are_no_record_are_refused() {
    let whole = sample().encoded();
    for length in 0..whole.len() {
        assert!(Invocation::decode(&whole[..length]).is_err(), "{length} bytes");
    }
    let mut later = whole;
    later[0] = 2;
    let error = Invocation::decode(&later).expect_err("a later version").to_string();
    assert_eq!(
        error,
        "the store is damaged: an invocation has format 2, and the newest known is 1"
    );
}
