//! What a value that can be read breaks, in the service's words.
//!
//! `Value 'x' at 'name' failed to satisfy constraint: Member must have length less than or equal to 80`
//! is what Step Functions answers for a long name of an execution, `Value null at ...: Member must not be
//! null` what recordings of other services hold. Several are counted and joined with `; `. A value that is
//! sensitive is left out (`Value at 'password' failed ...`, as Cognito has it), a list is one-based and
//! named as in `tags.1.member.key` (EBS, IAM), and a list of texts is judged as a whole (Lambda).

use std::fmt::Write;

use serde_json::Value;

use super::shape::{Bounds, Kind, Member, Shape};

/// A request can hold more mistakes than an answer should list.
const MOST: usize = 100;

/// All that a value breaks.
#[derive(Default)]
pub(super) struct Violations {
    found: Vec<String>,
}

impl Violations {
    /// The message, if anything was broken.
    pub(super) fn message(self) -> Option<String> {
        let count = self.found.len();
        let errors = if count == 1 { "error" } else { "errors" };
        let listed = self.found.join("; ");
        (count > 0).then(|| format!("{count} validation {errors} detected: {listed}"))
    }

    /// Looks at the members of a structure that stands at a place: nothing for the request itself, else
    /// a name that ends in a dot.
    pub(super) fn structure(&mut self, members: &[Member], value: &Value, place: &str) {
        for member in members {
            let place = format!("{place}{}", member.name);
            match value.get(member.name) {
                None | Some(Value::Null) if member.required => self.missing(&place),
                None | Some(Value::Null) => {}
                Some(found) => self.value(member.shape, found, &place, member.in_bytes),
            }
        }
    }

    fn value(&mut self, shape: &'static Shape, value: &Value, place: &str, in_bytes: bool) {
        if self.found.len() >= MOST {
            return;
        }
        match &shape.kind {
            Kind::Structure(members) => self.structure(members, value, &format!("{place}.")),
            Kind::List { element, length } => self.list(shape, element, *length, value, place),
            _ => {
                for constraint in broken(shape, value, in_bytes) {
                    self.add(shape, value, place, &constraint);
                }
            }
        }
    }

    fn list(
        &mut self,
        shape: &Shape,
        element: &'static Shape,
        length: Bounds,
        value: &Value,
        place: &str,
    ) {
        let found = value.as_array().map(Vec::as_slice).unwrap_or_default();
        for constraint in sized(length, found.len()) {
            self.add(shape, value, place, &constraint);
        }
        if matches!(element.kind, Kind::Text { .. }) {
            return self.texts(shape, element, found, place);
        }
        for (index, part) in (1..).zip(found) {
            let place = format!("{place}.{index}.member");
            match part {
                Value::Null => self.missing(&place),
                part => self.value(element, part, &place, false),
            }
        }
    }

    fn texts(&mut self, shape: &Shape, element: &Shape, found: &[Value], place: &str) {
        let wrong = |part: &Value| part.is_null() || !broken(element, part, false).is_empty();
        if found.iter().any(wrong) {
            let all = format!("Member must satisfy constraint: [{}]", constraints(element));
            self.add(shape, &Value::from(found), place, &all);
        }
    }

    fn missing(&mut self, place: &str) {
        self.push(format!(
            "Value null at '{place}' failed to satisfy constraint: Member must not be null"
        ));
    }

    fn add(&mut self, shape: &Shape, value: &Value, place: &str, constraint: &str) {
        let mut said = String::from("Value ");
        if !shape.sensitive {
            let _ = write!(said, "'{}' ", shown(shape, value));
        }
        let _ = write!(said, "at '{place}' failed to satisfy constraint: {constraint}");
        self.push(said);
    }

    fn push(&mut self, violation: String) {
        if self.found.len() < MOST {
            self.found.push(violation);
        }
    }
}

/// What a scalar breaks of its shape.
fn broken(shape: &Shape, value: &Value, in_bytes: bool) -> Vec<String> {
    match (&shape.kind, value) {
        (Kind::Text { length, pattern, values }, Value::String(text)) => {
            let count = if in_bytes { text.len() } else { text.chars().count() };
            let matched =
                pattern.filter(|pattern| !super::pattern::holds(pattern, text)).map(matches);
            let listed = values.is_empty() || values.contains(&text.as_str());
            let unlisted = (!listed).then(|| among(values));
            sized(*length, count).chain(matched).chain(unlisted).collect()
        }
        (
            Kind::Integer(bounds) | Kind::Long(bounds) | Kind::Float(bounds),
            Value::Number(number),
        ) => ranged(*bounds, number.as_f64().unwrap_or_default()),
        _ => Vec::new(),
    }
}

/// All that a text of this shape must keep to.
fn constraints(shape: &Shape) -> String {
    let Kind::Text { length, pattern, values } = &shape.kind else { return String::new() };
    let values = (!values.is_empty()).then(|| among(values));
    let not_null = "Member must not be null".to_owned();
    let all = [length.max.map(at_most), length.min.map(at_least), pattern.map(matches), values];
    all.into_iter().flatten().chain([not_null]).collect::<Vec<_>>().join(", ")
}

fn sized(bounds: Bounds, length: usize) -> impl Iterator<Item = String> {
    let length = i64::try_from(length).unwrap_or(i64::MAX);
    let long = bounds.max.filter(|max| length > *max).map(at_most);
    let short = bounds.min.filter(|min| length < *min).map(at_least);
    long.into_iter().chain(short)
}

fn ranged(bounds: Bounds, number: f64) -> Vec<String> {
    let large = bounds.max.filter(|max| number > *max as f64);
    let small = bounds.min.filter(|min| number < *min as f64);
    let large = large.map(|max| format!("Member must have value less than or equal to {max}"));
    let small = small.map(|min| format!("Member must have value greater than or equal to {min}"));
    large.into_iter().chain(small).collect()
}

fn at_most(max: i64) -> String {
    format!("Member must have length less than or equal to {max}")
}

fn at_least(min: i64) -> String {
    format!("Member must have length greater than or equal to {min}")
}

fn matches(pattern: &str) -> String {
    format!("Member must satisfy regular expression pattern: {pattern}")
}

fn among(values: &[&str]) -> String {
    format!("Member must satisfy enum value set: [{}]", values.join(", "))
}

/// A value as a Java program prints it; how it prints a structure is a guess.
fn shown(shape: &Shape, value: &Value) -> String {
    match (&shape.kind, value) {
        (_, Value::String(text)) => text.clone(),
        (Kind::List { element, .. }, Value::Array(found)) => {
            let parts: Vec<_> = found.iter().map(|part| shown(element, part)).collect();
            format!("[{}]", parts.join(", "))
        }
        (Kind::Structure(members), Value::Object(found)) => {
            let part = |member: &Member| {
                let value = found.get(member.name).unwrap_or(&Value::Null);
                format!("{}={}", member.name, shown(member.shape, value))
            };
            let parts: Vec<_> = members.iter().map(part).collect();
            format!("{}({})", shape.name, parts.join(", "))
        }
        (_, scalar) => scalar.to_string(),
    }
}
