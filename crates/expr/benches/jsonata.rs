//! Expressions on a payload of 1 KiB: through a session, and in the engine as it comes.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use everstep_expr::jsonata::{Expression, Session};
use everstep_expr::{Entropy, NoVariables, Value};
use jsonata_core::evaluator::{Context, Evaluator};
use jsonata_core::value::JValue;
use serde_json::json;

const EXPRESSIONS: [(&str, &str); 6] = [
    ("path", "$states.input.order.customer.name"),
    ("comparison", "$states.input.order.total > 100"),
    ("concatenation", "'Hello ' & $states.input.order.customer.name"),
    ("sum", "$sum($states.input.order.items.(qty * price))"),
    ("filter", "$states.input.order.items[price > 5].{'sku': sku, 'cost': qty * price}"),
    ("map", "$map($states.input.order.items, function($i) { $i.sku & '!' })"),
];

fn states() -> Value {
    let item = |n: u32| json!({"sku": format!("item-{n:04}"), "qty": n, "price": n * 2, "tags": ["a", "b"]});
    json!({
        "input": {"order": {
            "id": "o-1", "total": 250, "customer": {"name": "Ada", "email": "ada@example.com"},
            "items": (1..=14).map(item).collect::<Vec<_>>(),
        }},
        "context": {"Execution": {"Id": "arn:aws:states:eu-west-1:123456789012:execution:m:e"}},
    })
}

fn session(c: &mut Criterion) {
    let states = states();
    let entropy = Entropy::new(0, 0);
    let mut group = c.benchmark_group("session");
    for (name, text) in EXPRESSIONS {
        let expression = Expression::parse(text).expect("it compiles");
        group.bench_function(name, |b| {
            b.iter(|| {
                let session = Session::new(black_box(&states), &NoVariables, &entropy);
                session.evaluate(&expression).expect("it has a value")
            });
        });
        group.bench_function(format!("{name}, next in the same state"), |b| {
            let session = Session::new(black_box(&states), &NoVariables, &entropy);
            b.iter(|| session.evaluate(&expression).expect("it has a value"));
        });
    }
}

fn engine(c: &mut Criterion) {
    let states = states();
    let mut group = c.benchmark_group("engine");
    for (name, text) in EXPRESSIONS {
        let ast = jsonata_core::parser::parse(text).expect("it compiles");
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut context = Context::new();
                context.bind("states".to_owned(), JValue::from(black_box(&states).clone()));
                let value = Evaluator::with_context(context).evaluate(&ast, &JValue::Undefined);
                Value::from(&value.expect("it has a value"))
            });
        });
    }
}

criterion_group!(benches, session, engine);
criterion_main!(benches);
