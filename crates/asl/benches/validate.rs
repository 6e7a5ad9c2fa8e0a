//! How long it takes to read and check the largest definition there can be.

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use everstep_asl::{DEFINITION_BYTES_MAX, Options, Source, parse};

const STATES: usize = 10_000;

/// Ten thousand states of several types in a chain, filled up to a mebibyte.
fn definition() -> String {
    let mut text = String::from("{\"StartAt\":\"S0\",\"States\":{");
    for at in 0..STATES - 1 {
        let next = at + 1;
        let body = match at % 5 {
            0 => r#""Type":"Task","Resource":"https://example.com/a","TimeoutSeconds":9,"#,
            1 => r#""Type":"Pass","Parameters":{"a.$":"$.b","c":[1,2,{"d":"e"}]},"#,
            2 => r#""Type":"Wait","Seconds":5,"Comment":"a while","#,
            3 => {
                r#""Type":"Task","Resource":"https://example.com/b","TimeoutSeconds":9,"Retry":[{"ErrorEquals":["States.ALL"],"MaxAttempts":3}],"#
            }
            _ => r#""Type":"Pass","ResultPath":"$.x","Result":{"y":true},"#,
        };
        let _ = writeln!(text, "\"S{at}\":{{{body}\"Next\":\"S{next}\"}},");
    }
    let _ = writeln!(text, "\"S{}\":{{\"Type\":\"Succeed\",\"Comment\":\"\"}}}}}}", STATES - 1);
    let fill = DEFINITION_BYTES_MAX - text.len();
    text.replacen("\"Comment\":\"\"", &format!("\"Comment\":\"{}\"", "x".repeat(fill)), 1)
}

fn validate(criterion: &mut Criterion) {
    let source = Source::new("large.asl.json", definition());
    assert_eq!(source.text().len(), DEFINITION_BYTES_MAX);
    let parsed = parse(&source, &Options::default());
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics.first());

    let mut group = criterion.benchmark_group("validate");
    group.sample_size(20);
    let run = |bencher: &mut criterion::Bencher<'_>| {
        bencher.iter(|| parse(black_box(&source), &Options::default()));
    };
    group.throughput(Throughput::Bytes(DEFINITION_BYTES_MAX as u64));
    group.bench_function("1 MiB, by bytes", run);
    group.throughput(Throughput::Elements(STATES as u64));
    group.bench_function("10,000 states, by states", run);
    group.finish();
}

criterion_group!(benches, validate);
criterion_main!(benches);
