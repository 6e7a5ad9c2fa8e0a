//! Compares JSON values as the corpus asks: numbers by value, key order ignored, a cause that is
//! the text of JSON as JSON, placeholders by what they stand for. Knows nothing of events.

use std::fmt;

use serde_json::{Map, Number, Value};

use super::placeholders::{Bindings, Placeholders, Shape, Whole};

/// Differs from call to call and says nothing about the state machine.
pub(super) const IGNORED: [&str; 2] = ["SdkHttpMetadata", "SdkResponseMetadata"];
const ENTERED_AT: &str = "(entered at the event id #";

/// Where two values first differ; the path is innermost first.
#[derive(Debug)]
pub(super) struct Difference {
    path: Vec<String>,
    expected: String,
    found: String,
}

impl Difference {
    pub(super) fn new(expected: impl fmt::Display, found: impl fmt::Display) -> Self {
        Self { path: Vec::new(), expected: expected.to_string(), found: found.to_string() }
    }

    pub(super) fn below(mut self, step: impl Into<String>) -> Self {
        self.path.push(step.into());
        self
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        write!(f, "{}\nexpected {}\nfound    {}", path.join("."), self.expected, self.found)
    }
}

/// The comparison of one case: what its placeholders were found to be so far.
pub(super) struct Matcher<'c> {
    placeholders: &'c Placeholders,
    pub(super) bindings: Bindings,
    /// Event ids inside causes are not compared: order between branches is not fixed.
    masks_ids: bool,
}

impl<'c> Matcher<'c> {
    pub(super) fn new(placeholders: &'c Placeholders, masks_ids: bool) -> Self {
        Self { placeholders, bindings: Bindings::default(), masks_ids }
    }

    pub(super) fn value(&mut self, expected: &Value, found: &Value) -> Result<(), Difference> {
        let equal = match (expected, found) {
            (Value::Object(expected), Value::Object(found)) => return self.object(expected, found),
            (Value::Array(expected), Value::Array(found)) => return self.array(expected, found),
            (Value::String(text), _) => self.string(text, found),
            (Value::Number(expected), Value::Number(found)) => same_number(expected, found),
            _ => expected == found,
        };
        if equal { Ok(()) } else { Err(Difference::new(expected, found)) }
    }

    pub(super) fn object(
        &mut self,
        expected: &Map<String, Value>,
        found: &Map<String, Value>,
    ) -> Result<(), Difference> {
        for (key, value) in expected {
            let Some(other) = found.get(key) else {
                return Err(Difference::new(value, "nothing").below(key));
            };
            if IGNORED.contains(&key.as_str()) {
                continue;
            }
            self.member(key, value, other).map_err(|difference| difference.below(key))?;
        }
        match found.iter().find(|(key, _)| !expected.contains_key(*key)) {
            Some((key, value)) => Err(Difference::new("nothing", value).below(key)),
            None => Ok(()),
        }
    }

    fn member(&mut self, key: &str, expected: &Value, found: &Value) -> Result<(), Difference> {
        match (key, expected, found) {
            ("cause" | "Cause", Value::String(expected), Value::String(found)) => {
                self.cause(expected, found)
            }
            _ => self.value(expected, found),
        }
    }

    /// The white space of a cause that is JSON was changed in some recordings and not in others.
    pub(super) fn cause(&mut self, expected: &str, found: &str) -> Result<(), Difference> {
        match (document(expected), document(found)) {
            (Some(expected), Some(found)) => self.value(&expected, &found),
            _ => self.value(&Value::from(expected), &Value::from(found)),
        }
    }

    fn array(&mut self, expected: &[Value], found: &[Value]) -> Result<(), Difference> {
        for (index, (value, other)) in expected.iter().zip(found).enumerate() {
            self.value(value, other).map_err(|difference| difference.below(index.to_string()))?;
        }
        if expected.len() == found.len() {
            return Ok(());
        }
        Err(Difference::new(
            format_args!("{} elements", expected.len()),
            format_args!("{} elements", found.len()),
        ))
    }

    fn string(&mut self, expected: &str, found: &Value) -> bool {
        match self.placeholders.whole(expected) {
            Whole::Bound(name) => self.bindings.bind(name, found),
            Whole::Wild(name) => found.as_str() == Some(name) || Shape::of(name).fits(found),
            Whole::Text => found.as_str().is_some_and(|found| self.text(expected, found)),
        }
    }

    /// Two texts, character by character but for holes.
    pub(super) fn text(&mut self, expected: &str, found: &str) -> bool {
        if !self.masks_ids {
            return self.bindings.text(&self.placeholders.parts(expected), found);
        }
        let (expected, found) = (masked(expected), masked(found));
        self.bindings.text(&self.placeholders.parts(&expected), &found)
    }
}

fn document(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().filter(|value: &Value| value.is_object() || value.is_array())
}

fn same_number(expected: &Number, found: &Number) -> bool {
    match (integer(expected), integer(found)) {
        (Some(expected), Some(found)) => expected == found,
        _ => expected.as_f64() == found.as_f64(),
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or(number.as_u64().map(i128::from))
}

/// The text without the event ids it mentions.
fn masked(text: &str) -> String {
    let mut pieces = text.split(ENTERED_AT);
    let mut masked = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        masked.push_str(ENTERED_AT);
        masked.push_str(piece.trim_start_matches(|character: char| character.is_ascii_digit()));
    }
    masked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `expected` is the path of the first difference.
    fn check(recorded: Value, found: Value, expected: Option<&str>) {
        let case = json!({ "placeholders": { "<uuid:1>": "", "entered-time": "" } });
        let placeholders = Placeholders::of(&case);
        let difference = Matcher::new(&placeholders, false).value(&recorded, &found).err();
        let path = difference
            .map(|difference| difference.to_string().lines().next().unwrap_or_default().to_owned());
        assert_eq!(path.as_deref(), expected, "{recorded} {found}");
    }

    #[test]
    fn numbers_are_compared_by_value() {
        check(json!(1.0), json!(1), None);
        check(json!(9007199254740993_i64), json!(9007199254740992_i64), Some(""));
        check(json!([1, { "a": 2 }]), json!([1, { "a": 3 }]), Some("1.a"));
    }

    #[test]
    fn keys_have_no_order_but_must_agree() {
        check(json!({ "a": 1, "b": 2 }), json!({ "b": 2, "a": 1 }), None);
        check(json!({ "a": null }), json!({}), Some("a"));
        check(json!({}), json!({ "a": null }), Some("a"));
        check(json!([1]), json!([1, 2]), Some(""));
    }

    #[test]
    fn causes_that_are_json_are_compared_as_json() {
        check(json!({ "cause": "{\"a\": 1}" }), json!({ "cause": "{\"a\":1}" }), None);
        check(json!({ "Cause": "{\"a\": 1}" }), json!({ "Cause": "{\"a\":2}" }), Some("Cause.a"));
        check(json!({ "Input": "{\"a\": 1}" }), json!({ "Input": "{\"a\":1}" }), Some("Input"));
    }

    #[test]
    fn metadata_must_be_there_and_may_differ() {
        check(json!({ "SdkHttpMetadata": 1 }), json!({ "SdkHttpMetadata": 2 }), None);
        check(json!({ "SdkHttpMetadata": 1 }), json!({}), Some("SdkHttpMetadata"));
    }

    #[test]
    fn words_are_compared_by_shape() {
        check(json!("entered-time"), json!("2026-01-02T03:04:05.678Z"), None);
        check(json!("entered-time"), json!({}), Some(""));
        check(json!(["date", "date"]), json!(["2026-01-02", "2026-01-03"]), None);
    }

    #[test]
    fn ids_are_masked_only_in_their_phrase() {
        let text = "x (entered at the event id #17). y #3";
        assert_eq!(masked(text), "x (entered at the event id #). y #3");
    }
}
