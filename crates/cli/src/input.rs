//! The input of an execution, and the event of a function, as the command line gives them.

use anyhow::anyhow;
use everstep_asl::{Format, Source, document};
use serde_json::Value;

use crate::definition;

/// What `option` is given: JSON, `@FILE`, or `-` for standard input.
pub(crate) fn read(option: &str, argument: &str) -> anyhow::Result<Value> {
    parsed(option, argument).map(|(_, value)| value)
}

/// As [`read`], letter for letter.
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
