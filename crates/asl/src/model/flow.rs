//! How data gets into a state and out of it.

use everstep_expr::path::{Path, ReferencePath};
use everstep_expr::{jsonata, template};

/// The fields that shape a state's input and output, by query language.
#[derive(Debug, Clone)]
pub enum DataFlow {
    JsonPath(Box<JsonPathFlow>),
    Jsonata(JsonataFlow),
}

impl Default for DataFlow {
    fn default() -> Self {
        Self::JsonPath(Box::default())
    }
}

/// `InputPath → Parameters → … → ResultSelector → ResultPath → OutputPath`.
#[derive(Debug, Clone, Default)]
pub struct JsonPathFlow {
    pub input_path: OptionalPath,
    pub parameters: Option<template::Template>,
    pub result_selector: Option<template::Template>,
    pub result_path: ResultPath,
    pub output_path: OptionalPath,
}

/// `InputPath` or `OutputPath`.
#[derive(Debug, Clone, Default)]
pub enum OptionalPath {
    /// Absent, or `$`: all of it.
    #[default]
    Whole,
    Path(Path),
    /// `null`: an empty object instead.
    Discard,
}

/// `ResultPath`.
#[derive(Debug, Clone, Default)]
pub enum ResultPath {
    /// Absent, or `$`: the result replaces the input.
    #[default]
    Replace,
    Insert(ReferencePath),
    /// `null`: the result is dropped and the input is passed on.
    Discard,
}

#[derive(Debug, Clone, Default)]
pub struct JsonataFlow {
    pub arguments: Option<jsonata::Template>,
    pub output: Option<jsonata::Template>,
}

/// JSON with expressions in it, in either query language.
#[derive(Debug, Clone)]
pub enum Payload {
    JsonPath(template::Template),
    Jsonata(jsonata::Template),
}

/// `Assign`: a payload whose fields become variables.
#[derive(Debug, Clone)]
pub struct Assign {
    /// In the order of the definition, `.$` stripped.
    pub names: Vec<String>,
    pub payload: Payload,
}
