//! A handler that does what its event says.

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
            _ => handle(event).await.map_err(Diagnostic::from),
        }
    }))
    .await
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
