//! Choice states.

use std::cmp::Ordering;

use everstep_asl::model::{
    Choice, ChoiceRule, Comparand, Comparison, Condition, DataType, QueryLanguage, Relation, State,
    Target, TypeTest,
};
use everstep_expr::timestamp;
use everstep_history::{FrameId, Payload};
use serde_json::Value;

use crate::context::Extra;
use crate::decide::Decider;
use crate::fault::{Fault, unexpected_type};
use crate::flow::{Evaluation, Finished, More};

pub(crate) fn run(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    choice: &Choice,
) -> Result<(), Fault> {
    let evaluation = decider.evaluation(id, Extra::default());
    let (finished, target) = choose(&evaluation, state, choice, &decider.input(id))?;
    decider.leave(id, finished, Some(target.id.0))
}

/// What it passes on, and to which state.
pub(crate) fn choose<'c>(
    evaluation: &Evaluation<'_>,
    state: &State,
    choice: &'c Choice,
    input: &Payload,
) -> Result<(Finished, &'c Target), Fault> {
    let selected = evaluation.selected_input(state, input)?;
    for (index, rule) in choice.rules.iter().enumerate() {
        if holds(evaluation, &rule.condition, &selected, index)? {
            return Ok((taken(evaluation, state, rule, input, &selected)?, &rule.next));
        }
    }
    let Some(default) = &choice.default else { return Err(Fault::NoChoiceMatched) };
    Ok((evaluation.pass_on(state, input)?, default))
}

/// A rule's own `Assign` and `Output` take the place of the state's.
fn taken(
    evaluation: &Evaluation<'_>,
    state: &State,
    rule: &ChoiceRule,
    input: &Payload,
    selected: &Payload,
) -> Result<Finished, Fault> {
    match state.query_language {
        QueryLanguage::Jsonata => evaluation.output_and_assign(
            rule.output.as_ref(),
            rule.assign.as_ref(),
            input,
            More::Nothing,
            input,
        ),
        QueryLanguage::JsonPath => Ok(Finished {
            assigned: evaluation.assign(rule.assign.as_ref(), selected, input, More::Nothing)?,
            output: evaluation.selected_output(state, selected)?,
        }),
    }
}

fn holds(
    evaluation: &Evaluation<'_>,
    condition: &Condition,
    input: &Value,
    index: usize,
) -> Result<bool, Fault> {
    match condition {
        Condition::Constant(value) => Ok(*value),
        Condition::Jsonata(expression) => {
            let location = format!("Choices[{index}]/Condition");
            match evaluation.expression(expression, &location, input)? {
                Value::Bool(value) => Ok(value),
                other => Err(unexpected_type(&location, expression.as_str(), "boolean", &other)),
            }
        }
        Condition::And(conditions) => {
            for inner in conditions {
                if !holds(evaluation, inner, input, index)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Condition::Or(conditions) => {
            for inner in conditions {
                if holds(evaluation, inner, input, index)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Condition::Not(inner) => Ok(!holds(evaluation, inner, input, index)?),
        Condition::Type { variable, test, expected } => {
            let found = variable.evaluate(&evaluation.scope(input));
            let found = match (found, test) {
                (Err(_), TypeTest::Present) => return Ok(!expected),
                (found, _) => found.map_err(Fault::Path)?,
            };
            Ok(is_of_type(&found, *test) == *expected)
        }
        Condition::Matches { variable, pattern } => {
            let found = variable.evaluate(&evaluation.scope(input)).map_err(Fault::Path)?;
            Ok(found.as_str().is_some_and(|text| matches(pattern, text)))
        }
        Condition::Compare { variable, comparison } => {
            let found = variable.evaluate(&evaluation.scope(input)).map_err(Fault::Path)?;
            compare(evaluation, &found, comparison, input)
        }
    }
}

fn is_of_type(value: &Value, test: TypeTest) -> bool {
    match test {
        TypeTest::Present => true,
        TypeTest::Null => value.is_null(),
        TypeTest::Numeric => value.is_number(),
        TypeTest::String => value.is_string(),
        TypeTest::Boolean => value.is_boolean(),
        TypeTest::Timestamp => value.as_str().is_some_and(|text| timestamp::parse(text).is_ok()),
    }
}

fn compare(
    evaluation: &Evaluation<'_>,
    found: &Value,
    comparison: &Comparison,
    input: &Value,
) -> Result<bool, Fault> {
    let ordering = match &comparison.with {
        Comparand::String(text) => found.as_str().map(|found| found.cmp(text)),
        Comparand::Numeric(number) => found.as_f64().and_then(|found| found.partial_cmp(number)),
        Comparand::Boolean(value) => found.as_bool().map(|found| found.cmp(value)),
        Comparand::Timestamp(moment) => instant(found).map(|found| found.cmp(moment)),
        Comparand::Path(data_type, path) => {
            let other = path.evaluate(&evaluation.scope(input)).map_err(Fault::Path)?;
            order(*data_type, found, &other)
        }
    };
    Ok(ordering.is_some_and(|ordering| satisfies(comparison.relation, ordering)))
}

fn instant(value: &Value) -> Option<timestamp::Timestamp> {
    timestamp::parse(value.as_str()?).ok()
}

/// "If the values are not both of the appropriate type the comparison will return false."
fn order(data_type: DataType, left: &Value, right: &Value) -> Option<Ordering> {
    match data_type {
        DataType::String => Some(left.as_str()?.cmp(right.as_str()?)),
        DataType::Numeric => left.as_f64()?.partial_cmp(&right.as_f64()?),
        DataType::Boolean => Some(left.as_bool()?.cmp(&right.as_bool()?)),
        DataType::Timestamp => Some(instant(left)?.cmp(&instant(right)?)),
    }
}

fn satisfies(relation: Relation, ordering: Ordering) -> bool {
    match relation {
        Relation::Equals => ordering.is_eq(),
        Relation::LessThan => ordering.is_lt(),
        Relation::GreaterThan => ordering.is_gt(),
        Relation::LessThanEquals => ordering.is_le(),
        Relation::GreaterThanEquals => ordering.is_ge(),
    }
}

/// `StringMatches`: `*` stands for any characters, `\*` and `\\` for themselves.
fn matches(pattern: &str, text: &str) -> bool {
    let (mut parts, mut literal) = (Vec::new(), String::new());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' => parts.push(std::mem::take(&mut literal)),
            '\\' => literal.extend(characters.next()),
            other => literal.push(other),
        }
    }
    if parts.is_empty() {
        return literal == text;
    }
    // The first part is at the start, the last at the end, those between in order: earliest first.
    let Some(mut rest) = text.strip_prefix(parts[0].as_str()) else { return false };
    for part in &parts[1..] {
        let Some(at) = rest.find(part.as_str()) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(literal.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &str, text: &str, expected: bool) {
        assert_eq!(matches(pattern, text), expected, "{pattern} and {text}");
    }

    #[test]
    fn the_patterns_of_the_specification() {
        check("foo*.log", "foo23.log", true);
        check("*.log", "zebra.log", true);
        check("foo*.*", "foobar.zebra", true);
        check("foo*.log", "foo.txt", false);
        check(r"a\*b", "a*b", true);
        check(r"a\*b", "axb", false);
        check(r"a\\b", r"a\b", true);
        check("a*a", "a", false);
        check("*", "", true);
        check("", "", true);
        check("", "x", false);
        check("*ab*ab*", "abab", true);
    }
}
