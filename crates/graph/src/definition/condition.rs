//! The conditions of Choice Rules, as a reader would say them.

use everstep_asl::model::{Comparand, Comparison, Condition, Relation, TypeTest};

/// `$.total > 100 and $.country = "DE"`
#[must_use]
pub fn condition(condition: &Condition) -> String {
    match condition {
        Condition::And(parts) => joined(parts, " and "),
        Condition::Or(parts) => joined(parts, " or "),
        Condition::Not(inner) => format!("not ({})", self::condition(inner)),
        Condition::Type { variable, test, expected } => {
            format!("{} {}", variable.as_str(), type_words(*test, *expected))
        }
        Condition::Matches { variable, pattern } => {
            format!("{} matches {pattern:?}", variable.as_str())
        }
        Condition::Compare { variable, comparison } => {
            format!("{} {}", variable.as_str(), compared(comparison))
        }
        Condition::Jsonata(expression) => expression.as_str().trim().to_owned(),
        Condition::Constant(value) => value.to_string(),
    }
}

fn joined(parts: &[Condition], word: &str) -> String {
    let words: Vec<String> = parts
        .iter()
        .map(|part| match part {
            Condition::And(_) | Condition::Or(_) if parts.len() > 1 => {
                format!("({})", condition(part))
            }
            _ => condition(part),
        })
        .collect();
    words.join(word)
}

fn type_words(test: TypeTest, expected: bool) -> String {
    let what = match test {
        TypeTest::Null => "null",
        TypeTest::Present => "present",
        TypeTest::Numeric => "a number",
        TypeTest::String => "a string",
        TypeTest::Boolean => "a boolean",
        TypeTest::Timestamp => "a timestamp",
    };
    if expected { format!("is {what}") } else { format!("is not {what}") }
}

fn compared(comparison: &Comparison) -> String {
    let sign = match comparison.relation {
        Relation::Equals => "=",
        Relation::LessThan => "<",
        Relation::GreaterThan => ">",
        Relation::LessThanEquals => "≤",
        Relation::GreaterThanEquals => "≥",
    };
    let with = match &comparison.with {
        Comparand::String(text) => format!("\"{text}\""),
        Comparand::Numeric(number) => number.to_string(),
        Comparand::Boolean(value) => value.to_string(),
        Comparand::Timestamp(moment) => moment.to_string(),
        Comparand::Path(_, path) => path.as_str().to_owned(),
    };
    format!("{sign} {with}")
}
