//! JSON arguments: the input of an execution, the event of a function.

use anyhow::anyhow;
use everstep_asl::{Format, Source, document};
use serde_json::Value;

use crate::definition;

/// The value of an option: JSON, `@FILE`, or `-` for standard input.
pub(crate) fn read(option: &str, argument: &str) -> anyhow::Result<Value> {
    parsed(option, argument).map(|(_, value)| value)
}

/// As [`read`], but the text as it is.
pub(crate) fn text(option: &str, argument: &str) -> anyhow::Result<String> {
    parsed(option, argument).map(|(text, _)| text)
}

fn parsed(option: &str, argument: &str) -> anyhow::Result<(String, Value)> {
    let (name, text) = match argument {
        "-" => ("standard input".to_owned(), definition::read("-")?.text().to_owned()),
        file if file.starts_with('@') => {
            (file[1..].to_owned(), definition::read(&file[1..])?.text().to_owned())
        }
        text => (option.to_owned(), text.to_owned()),
    };
    match serde_json::from_str(&text) {
        Ok(value) => Ok((text, value)),
        Err(error) => Err(not_json(&Source::new(name, text), &error)),
    }
}

/// The reader of definitions has the better messages, but accepts more than JSON.
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
    anyhow!("{} is not valid JSON: line {line}, column {column}: {message}", source.name())
}
