//! A handler that does what its event says.

use std::io::Write as _;

use lambda_runtime::{Diagnostic, Error, LambdaEvent, run, service_fn};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Error> {
    run(service_fn(|event: LambdaEvent<Value>| async move {
        match event.payload.get("do").and_then(Value::as_str) {
            Some("diagnostic") => Err(Diagnostic {
                error_type: "OutOfStockError".to_owned(),
                error_message: "no widgets left".to_owned(),
            }),
            Some("witness") => {
                witness(&event);
                Err(Diagnostic {
                    error_type: "Broken".to_owned(),
                    error_message: "as planned".to_owned(),
                })
            }
            _ => handle(event).await.map_err(Diagnostic::from),
        }
    }))
    .await
}

/// Leaves a line with what the code was given.
fn witness(event: &LambdaEvent<Value>) {
    let told = event.context.client_context.as_ref().map(|context| &context.custom);
    let line = json!({
        "function": event.context.env_config.function_name,
        "id": event.context.request_id,
        "told": told,
    });
    let path = std::env::var("WITNESS").expect("somewhere to write");
    let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
    writeln!(file.expect("it opens"), "{line}").expect("it is written");
}

async fn handle(event: LambdaEvent<Value>) -> Result<Value, Error> {
    let with = event.payload.get("with").and_then(Value::as_i64).unwrap_or_default();
    match event.payload.get("do").and_then(Value::as_str) {
        Some("context") => {
            let context = event.context;
            let custom = context.client_context.map(|context| context.custom).unwrap_or_default();
            let memory = context.env_config.memory;
            Ok(json!([context.request_id, context.env_config.function_name, memory, custom]))
        }
        Some("fail") => Err("no widgets left".into()),
        Some("panic") => panic!("help"),
        Some("exit") => std::process::exit(with as i32),
        Some("abort") => std::process::abort(),
        _ => Ok(event.payload),
    }
}
