//! The input of an execution as the command line gives it.

use anyhow::anyhow;
use everstep_asl::{Format, Source, document};
use serde_json::Value;

use crate::definition;

/// JSON, `@FILE`, or `-` for standard input.
pub(crate) fn read(argument: &str) -> anyhow::Result<Value> {
    let (name, text) = match argument {
        "-" => ("standard input".to_owned(), definition::read("-")?.text().to_owned()),
        file if file.starts_with('@') => {
            (file[1..].to_owned(), definition::read(&file[1..])?.text().to_owned())
        }
        text => ("--input".to_owned(), text.to_owned()),
    };
    serde_json::from_str(&text).map_err(|error| not_json(&Source::new(name, text), &error))
}

/// The reader of definitions has the better words; what it is more lenient about, JSON's own says.
fn not_json(source: &Source, error: &serde_json::Error) -> anyhow::Error {
    let (line, column, message) = match document::read(source.text(), Format::Json) {
        Err(found) => {
            let position = source.position(found.span.start);
            (position.line, position.column, found.message)
        }
        Ok(_) => {
            let text = error.to_string();
            let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
            (error.line(), error.column(), message)
        }
    };
    anyhow!("{} is not JSON: line {line}, column {column}: {message}", source.name())
}
