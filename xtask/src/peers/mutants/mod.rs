//! Definitions with one mistake each, made of right ones: the same mutants each time.

mod expressions;
mod handlers;
mod shape;
mod site;
mod tasks;

use serde_json::Value;

use self::site::{Random, Site};
use super::Case;

/// Makes one mistake somewhere, if there is a place for it.
type Mutate = fn(&mut Site<'_>) -> Option<()>;

/// Every kind of mistake, by name.
fn kinds() -> impl Iterator<Item = &'static (&'static str, Mutate)> {
    shape::KINDS.iter().chain(tasks::KINDS).chain(handlers::KINDS).chain(expressions::KINDS)
}

/// At most `each` mutants of every kind, of different definitions.
pub(super) fn generate(accepted: &[&Case], each: usize) -> Vec<Case> {
    let mut random = Random::new();
    let mut mutants = Vec::new();
    for (kind, mutate) in kinds() {
        let made = random.shuffled(accepted).into_iter().filter_map(|case| {
            let definition = mutated(&case.definition, *mutate, &mut random)?;
            Some(Case { source: "mutants", kind: Some(kind), name: case.name.clone(), definition })
        });
        mutants.extend(made.take(each));
    }
    mutants
}

fn mutated(definition: &Value, mutate: Mutate, random: &mut Random) -> Option<Value> {
    let mut mutant = definition.clone();
    mutate(&mut Site::new(&mut mutant, random))?;
    (mutant != *definition).then_some(mutant)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn cases() -> Vec<Case> {
        let definitions = [
            json!({"StartAt": "A", "States": {
                "A": {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Next": "B",
                    "Parameters": {"FunctionName": "f", "Payload.$": "$.x"}, "ResultPath": "$.r"},
                "B": {"Type": "Choice", "Default": "C", "Choices": [
                    {"Variable": "$.x", "NumericEquals": 1, "Next": "C"}]},
                "C": {"Type": "Wait", "Seconds": 1, "Next": "D"},
                "D": {"Type": "Map", "ItemProcessor": {"StartAt": "E", "States": {"E": {"Type": "Pass", "End": true}}},
                    "End": true}}}),
            json!({"StartAt": "A", "QueryLanguage": "JSONata", "States": {
                "A": {"Type": "Pass", "Output": {"a": "{% $states.input.x %}"}, "Next": "W"},
                "W": {"Type": "Wait", "Seconds": 1, "Next": "C"},
                "C": {"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Next": "B"}]},
                "B": {"Type": "Fail", "Error": "E"}}}),
            json!({"StartAt": "P", "States": {"P": {"Type": "Parallel", "End": true, "Branches": [
                {"StartAt": "B", "States": {"B": {"Type": "Pass", "End": true}}}]}}}),
            json!({"StartAt": "A", "States": {
                "A": {"Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:f", "Next": "B"},
                "B": {"Type": "Fail", "Error": "E"}}}),
        ];
        let case = |(number, definition): (usize, Value)| {
            let name = number.to_string();
            Case { source: "test", kind: None, name, definition }
        };
        definitions.into_iter().enumerate().map(case).collect()
    }

    #[test]
    fn every_kind_finds_a_place_and_the_mutants_are_the_same_each_time() {
        let cases = cases();
        let cases: Vec<&Case> = cases.iter().collect();
        let made = || {
            let mutants = generate(&cases, 2).into_iter();
            mutants.map(|mutant| (mutant.kind, mutant.definition)).collect::<Vec<_>>()
        };
        let first = made();
        assert_eq!(first, made());
        for (kind, _) in kinds() {
            assert!(first.iter().any(|(made, _)| *made == Some(*kind)), "{kind}");
        }
    }
}
