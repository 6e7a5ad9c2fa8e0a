//! From steps and a document to a value, the way Jayway goes.
//!
//! What is missing fails only while the path is definite; after a wildcard, a scan, a slice or
//! a filter it is passed over.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde_json::{Map, Value};

use super::java;
use super::token::{Steps, Token, position};

/// Nodes one evaluation may visit or copy. `$..*..*` grows with the square of its input.
const WORK_MAX: u64 = 4_000_000;

/// Why there is no value. Filters pass over the first two and not over the others.
#[derive(Debug)]
pub(super) enum Failure {
    NotFound(String),
    Invalid(String),
    Fatal(String),
    Limit(String),
}

type Found<'d> = Vec<Cow<'d, Value>>;

pub(super) fn evaluate<'d>(
    steps: &Steps,
    document: &'d Value,
    root: &dyn fmt::Display,
) -> Result<Cow<'d, Value>, Failure> {
    let frame = Frame { document, root, work: Cell::new(WORK_MAX) };
    frame.value(steps, document)
}

/// Shared by a path, the filters in it and the paths in those.
pub(super) struct Frame<'f> {
    pub(super) document: &'f Value,
    root: &'f dyn fmt::Display,
    work: Cell<u64>,
}

impl Frame<'_> {
    pub(super) fn spend(&self, nodes: usize) -> Result<(), Failure> {
        let nodes = u64::try_from(nodes).unwrap_or(u64::MAX);
        match self.work.get().checked_sub(nodes) {
            Some(left) => {
                self.work.set(left);
                Ok(())
            }
            None => Err(Failure::Limit(format!("the path visits more than {WORK_MAX} nodes"))),
        }
    }

    /// The value of a definite path, the list of an indefinite one.
    pub(super) fn value<'d>(
        &self,
        steps: &Steps,
        start: &'d Value,
    ) -> Result<Cow<'d, Value>, Failure> {
        let mut found = self.find(steps, start)?;
        if !steps.is_definite() {
            for item in &found {
                self.weigh(item)?;
            }
            let items = found.into_iter().map(Cow::into_owned).collect();
            return Ok(Cow::Owned(Value::Array(items)));
        }
        if found.is_empty() {
            let path = steps.prefix(self.root, steps.tokens().len());
            return Err(Failure::NotFound(format!("No results for path: {path}")));
        }
        Ok(found.swap_remove(0))
    }

    /// How many nodes an indefinite path finds in the document.
    pub(super) fn count(&self, steps: &Steps) -> Result<Option<usize>, Failure> {
        let found = self.find(steps, self.document)?;
        Ok(match (steps.is_definite(), found.first().map(Cow::as_ref)) {
            (false, _) => Some(found.len()),
            (true, Some(Value::Array(items))) => Some(items.len()),
            (true, Some(Value::Object(fields))) => Some(fields.len()),
            (true, _) => None,
        })
    }

    fn find<'d>(&self, steps: &Steps, start: &'d Value) -> Result<Found<'d>, Failure> {
        let walk = Walk { frame: self, steps };
        let mut found = Vec::new();
        walk.go(0, start, true, &mut found)?;
        Ok(found)
    }

    fn weigh(&self, value: &Value) -> Result<(), Failure> {
        match value {
            Value::Array(items) => {
                self.spend(items.len())?;
                items.iter().try_for_each(|item| self.weigh(item))
            }
            Value::Object(fields) => {
                self.spend(fields.len())?;
                fields.values().try_for_each(|value| self.weigh(value))
            }
            Value::String(text) => self.spend(text.len() / 64),
            _ => Ok(()),
        }
    }
}

/// One path on its way through the data.
struct Walk<'w> {
    frame: &'w Frame<'w>,
    steps: &'w Steps,
}

impl Walk<'_> {
    /// Applies step `at` to the node, and what follows to what that finds. `definite` says
    /// whether everything before was.
    fn go<'d>(
        &self,
        at: usize,
        node: &'d Value,
        definite: bool,
        found: &mut Found<'d>,
    ) -> Result<(), Failure> {
        self.frame.spend(1)?;
        let Some(token) = self.steps.tokens().get(at) else {
            found.push(Cow::Borrowed(node));
            return Ok(());
        };
        match token {
            Token::Field(name) => self.field(at, name, node, definite, found),
            Token::Escaped(escaped) => {
                let name = match node {
                    Value::Object(fields) => escaped.name_in(fields),
                    _ => &escaped.name,
                };
                self.field(at, name, node, definite, found)
            }
            Token::Fields(names) => self.fields(at, names, node, definite, found),
            Token::Index(index) => self.indexes(at, &[*index], node, definite, found),
            Token::Indexes(indexes) => self.indexes(at, indexes, node, definite, found),
            Token::Slice(from, to) => self.slice(at, *from, *to, node, definite, found),
            Token::Wildcard => self.each(at + 1, node, found),
            Token::Scan => self.scan(at + 1, node, found),
            Token::Filter(filter) => match node {
                Value::Object(_) if filter.accepts(node, self.frame)? => {
                    self.go(at + 1, node, false, found)
                }
                Value::Object(_) => Ok(()),
                Value::Array(items) => items.iter().try_for_each(|item| {
                    if filter.accepts(item, self.frame)? {
                        self.go(at + 1, item, false, found)?;
                    }
                    Ok(())
                }),
                _ if definite => Err(Failure::Invalid(format!(
                    "Filter: {} can not be applied to primitives. Current context is: {}",
                    self.from(at),
                    java::to_java(node)
                ))),
                _ => Ok(()),
            },
            Token::Function(function) => {
                found.push(function.call(node, self.frame)?);
                Ok(())
            }
        }
    }

    fn is_last(&self, at: usize) -> bool {
        at + 1 == self.steps.tokens().len()
    }

    /// The path from a step on, as Jayway writes it.
    fn from(&self, at: usize) -> String {
        let tokens = &self.steps.tokens()[at..];
        tokens.iter().map(ToString::to_string).collect()
    }

    fn field<'d>(
        &self,
        at: usize,
        name: &str,
        node: &'d Value,
        definite: bool,
        found: &mut Found<'d>,
    ) -> Result<(), Failure> {
        match node {
            Value::Object(fields) => match fields.get(name) {
                Some(value) => self.go(at + 1, value, definite, found),
                None if definite && !self.is_last(at) => Err(Failure::NotFound(format!(
                    "Missing property in path {}",
                    self.steps.prefix(self.frame.root, at + 1)
                ))),
                None => Ok(()),
            },
            _ if definite => Err(self.not_an_object(at, node)),
            _ => Ok(()),
        }
    }

    fn not_an_object(&self, at: usize, node: &Value) -> Failure {
        Failure::NotFound(format!(
            "Expected to find an object with property {} in path {} but found '{}'. This is not \
             a json object according to the JsonProvider: \
             'com.jayway.jsonpath.spi.json.JacksonJsonProvider'.",
            self.steps.tokens()[at],
            self.steps.prefix(self.frame.root, at),
            java::class(node)
        ))
    }

    fn fields<'d>(
        &self,
        at: usize,
        names: &[Box<str>],
        node: &'d Value,
        definite: bool,
        found: &mut Found<'d>,
    ) -> Result<(), Failure> {
        let Value::Object(fields) = node else {
            return if definite { Err(self.not_an_object(at, node)) } else { Ok(()) };
        };
        let present = names.iter().filter_map(|name| fields.get_key_value(&**name));
        if !self.is_last(at) {
            for (_, value) in present {
                self.go(at + 1, value, false, found)?;
            }
            return Ok(());
        }
        let mut chosen = Map::new();
        for (name, value) in present {
            self.frame.weigh(value)?;
            chosen.insert(name.clone(), value.clone());
        }
        found.push(Cow::Owned(Value::Object(chosen)));
        Ok(())
    }

    fn array<'d>(
        &self,
        at: usize,
        node: &'d Value,
        definite: bool,
    ) -> Result<&'d [Value], Failure> {
        match node {
            Value::Array(items) => Ok(items),
            _ if !definite => Ok(&[]),
            Value::Null => Err(Failure::NotFound(format!(
                "The path {} is null",
                self.steps.prefix(self.frame.root, at)
            ))),
            _ => Err(Failure::NotFound(format!(
                "Filter: {} can only be applied to arrays. Current context is: {}",
                self.from(at),
                java::to_java(node)
            ))),
        }
    }

    fn indexes<'d>(
        &self,
        at: usize,
        indexes: &[i32],
        node: &'d Value,
        definite: bool,
        found: &mut Found<'d>,
    ) -> Result<(), Failure> {
        let items = self.array(at, node, definite)?;
        let definite = definite && indexes.len() == 1;
        indexes.iter().try_for_each(|index| {
            match position(*index, items.len()).and_then(|index| items.get(index)) {
                Some(item) => self.go(at + 1, item, definite, found),
                None => Ok(()),
            }
        })
    }

    /// With both bounds, a negative first one counts from the end and continues at the
    /// beginning: `[-1:2]` is the last item, then the first two.
    fn slice<'d>(
        &self,
        at: usize,
        from: Option<i32>,
        to: Option<i32>,
        node: &'d Value,
        definite: bool,
        found: &mut Found<'d>,
    ) -> Result<(), Failure> {
        let items = self.array(at, node, definite)?;
        let len = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let range = match (from.map(i64::from), to.map(i64::from)) {
            (Some(from), Some(to)) => from.max(-len)..to.min(len),
            (Some(from), None) if from < 0 => (len + from).max(0)..len,
            (Some(from), None) => from..len,
            (None, Some(to)) if to < 0 => 0..len + to,
            (None, to) => 0..to.unwrap_or(len).min(len),
        };
        range.into_iter().try_for_each(|index| {
            let index = if index < 0 { len + index } else { index };
            match usize::try_from(index).ok().and_then(|at| items.get(at)) {
                Some(item) => self.go(at + 1, item, false, found),
                None => Ok(()),
            }
        })
    }

    fn each<'d>(&self, at: usize, node: &'d Value, found: &mut Found<'d>) -> Result<(), Failure> {
        match node {
            Value::Array(items) => {
                items.iter().try_for_each(|item| self.go(at, item, false, found))
            }
            Value::Object(fields) => {
                fields.values().try_for_each(|value| self.go(at, value, false, found))
            }
            _ => Ok(()),
        }
    }

    /// Applies step `at` to the node and to all below it, parents first.
    fn scan<'d>(&self, at: usize, node: &'d Value, found: &mut Found<'d>) -> Result<(), Failure> {
        let mut waiting = vec![node];
        while let Some(node) = waiting.pop() {
            self.frame.spend(1)?;
            self.visit(at, node, found)?;
            match node {
                Value::Array(items) => waiting.extend(items.iter().rev()),
                Value::Object(fields) => waiting.extend(fields.values().rev()),
                _ => {}
            }
        }
        Ok(())
    }

    /// In arrays Jayway asks of the array itself what it will ask of the items, and if more
    /// steps follow, takes all items.
    fn visit<'d>(&self, at: usize, node: &'d Value, found: &mut Found<'d>) -> Result<(), Failure> {
        match (&self.steps.tokens()[at], node) {
            (Token::Filter(filter), Value::Array(_)) => match filter.accepts(node, self.frame)? {
                true if self.is_last(at) => self.go(at, node, false, found),
                true => self.each(at + 1, node, found),
                false => Ok(()),
            },
            (Token::Fields(names), Value::Object(fields))
                if self.is_last(at) && !names.iter().all(|name| fields.contains_key(&**name)) =>
            {
                Ok(())
            }
            (_, Value::Array(_) | Value::Object(_)) => self.go(at, node, false, found),
            _ => Ok(()),
        }
    }
}
