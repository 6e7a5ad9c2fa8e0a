//! Paths, payload templates and intrinsic functions on a payload of about one kilobyte.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use everstep_expr::intrinsic::Call;
use everstep_expr::path::{Path, ReferencePath};
use everstep_expr::template::Template;
use everstep_expr::{Entropy, NoVariables, Scope, Value, timestamp};
use serde_json::json;
use serde_json_path::JsonPath;

fn payload() -> Value {
    let items: Vec<_> = (0..10)
        .map(|n| json!({"sku": format!("sku-{n:04}"), "price": 1.25 * f64::from(n), "count": n}))
        .collect();
    json!({
        "order": {"id": "o-123456", "customer": {"name": "Ada", "city": "London"}, "items": items},
        "requestId": "7c0e7a0a-6d0c-4d4e-9d0a-000000000000",
        "flags": [true, false],
        "notes": "x".repeat(400),
    })
}

fn scope<'a>(input: &'a Value, entropy: &'a Entropy) -> Scope<'a> {
    Scope {
        input,
        context: &Value::Null,
        variables: &NoVariables,
        entropy,
        prints_structures: true,
    }
}

fn paths(c: &mut Criterion) {
    let (input, entropy) = (payload(), Entropy::new(0, 1));
    let scope = scope(&input, &entropy);
    for (name, ours, theirs) in [
        ("field", "$.requestId", "$.requestId"),
        ("deep", "$.order.customer.city", "$.order.customer.city"),
        ("index", "$.order.items[3].sku", "$.order.items[3].sku"),
        ("wildcard", "$.order.items[*].sku", "$.order.items[*].sku"),
        ("filter", "$.order.items[?(@.count > 5)]", "$.order.items[?@.count > 5]"),
        ("scan", "$..price", "$..price"),
    ] {
        let mut group = c.benchmark_group(format!("path/{name}"));
        let path = Path::parse(ours).expect("a path");
        group.bench_function("everstep", |b| b.iter(|| black_box(&path).evaluate(&scope)));
        let path = JsonPath::parse(theirs).expect("a path");
        group.bench_function("serde_json_path", |b| {
            b.iter(|| black_box(&path).query(&input));
        });
        group.finish();
    }
    c.bench_function("path/missing", |b| {
        let path = Path::parse("$.order.no").expect("a path");
        b.iter(|| black_box(&path).evaluate(&scope));
    });
    c.bench_function("path/parse", |b| {
        b.iter(|| Path::parse(black_box("$.order.items[3].sku")));
    });
    c.bench_function("path/insert", |b| {
        let path = ReferencePath::parse("$.order.result").expect("a path");
        b.iter_batched(
            || input.clone(),
            |target| path.insert(target, Value::Null),
            criterion::BatchSize::SmallInput,
        );
    });
}

fn templates(c: &mut Criterion) {
    let (input, entropy) = (payload(), Entropy::new(0, 1));
    let scope = scope(&input, &entropy);
    for (name, template) in [
        ("static", json!({"a": 1, "b": {"c": [1, 2, 3]}})),
        (
            "three_paths",
            json!({"id.$": "$.order.id", "city.$": "$.order.customer.city", "n.$": "$.flags[0]"}),
        ),
        ("whole_input", json!({"input.$": "$"})),
    ] {
        let template = Template::parse(&template).expect("a template");
        c.bench_function(&format!("template/{name}"), |b| {
            b.iter(|| black_box(&template).evaluate(&scope));
        });
    }
}

fn intrinsics(c: &mut Criterion) {
    let (input, entropy) = (payload(), Entropy::new(0, 1));
    let scope = scope(&input, &entropy);
    for (name, call) in [
        ("format", "States.Format('{} in {}', $.order.customer.name, $.order.customer.city)"),
        ("add", "States.MathAdd($.order.items[3].count, -1)"),
        ("length", "States.ArrayLength($.order.items)"),
        ("split", "States.ArrayGetItem(States.StringSplit($.requestId, '-'), 0)"),
        ("uuid", "States.UUID()"),
        ("to_string", "States.JsonToString($.order)"),
    ] {
        let call = Call::parse(call).expect("a call");
        c.bench_function(&format!("intrinsic/{name}"), |b| {
            b.iter(|| black_box(&call).evaluate(&scope));
        });
    }
    c.bench_function("timestamp/parse", |b| {
        b.iter(|| timestamp::parse(black_box("2016-03-14T01:59:00.123+02:00")));
    });
}

criterion_group!(benches, paths, templates, intrinsics);
criterion_main!(benches);
