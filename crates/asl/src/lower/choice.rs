//! Choice states: rules, conditions and the comparison operators.

use everstep_expr::path::Path;
use everstep_source::document::Content;

use super::expression::{self, Available};
use super::flow;
use super::names::nowhere;
use super::reader::{Close as _, Field, Fields, Misplaced};
use super::state::Reading;
use crate::diagnostic::InServiceWords as _;
use crate::model::{
    Choice, ChoiceRule, Comparand, Comparison, Condition, DataType, Kind, QueryLanguage, Relation,
    TypeTest,
};
use crate::rule::Rule;
use everstep_source::Diagnostic;

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let fields = &reading.fields;
    let mut rules = Vec::new();
    if let Some(field) = fields.require("Choices") {
        for element in field.filled_elements().unwrap_or_default() {
            if let Some(fields) = element.fields("a choice rule") {
                rules.push(rule(fields, reading));
            }
        }
    }
    let default = fields.get("Default").map(|field| reading.around.names.resolve(&field));
    Kind::Choice(Choice { rules, default })
}

fn rule(fields: Fields<'_>, reading: &Reading<'_, '_>) -> ChoiceRule {
    let next = fields.require("Next").map(|field| reading.around.names.resolve(&field));
    let comment = fields.string("Comment").map(str::to_owned);
    let assign = flow::assign(&fields, reading.language, Available::Nothing);
    let (condition, output) = if reading.is_jsonata() {
        let output = fields
            .get("Output")
            .and_then(|field| expression::jsonata_template_with(&field, Available::Nothing));
        (jsonata(&fields), output)
    } else {
        (condition(&fields), None)
    };
    let language = reading.language;
    fields.close(|name| {
        let hint = flow::of_other_language(name, language)?;
        Some(Misplaced::in_language(language, hint))
    });
    ChoiceRule { comment, condition, next: next.unwrap_or_else(|| nowhere("")), assign, output }
}

fn jsonata(fields: &Fields<'_>) -> Condition {
    let Some(field) = fields.require("Condition") else {
        return Condition::Constant(false);
    };
    match field.node.content {
        Content::Boolean(value) => Condition::Constant(value),
        Content::String(_) => {
            expression::jsonata(&field).map_or(Condition::Constant(false), Condition::Jsonata)
        }
        _ => {
            field.cx.report(field.wrong_type("a boolean or a JSONata expression"));
            Condition::Constant(false)
        }
    }
}

/// "A Choice Rule MUST be either a Boolean Expression or a Data-test Expression."
fn condition(fields: &Fields<'_>) -> Condition {
    let boolean =
        ["And", "Or", "Not"].into_iter().filter_map(|name| fields.get(name)).collect::<Vec<_>>();
    let tests = OPERATORS.iter().filter_map(|name| fields.get(name)).collect::<Vec<_>>();
    let variable = fields.get("Variable");
    match (boolean.as_slice(), tests.as_slice()) {
        ([field], []) if variable.is_none() => combined(field),
        ([], [field]) => test(fields, variable, field),
        ([], []) if variable.is_none() => {
            report(
                fields,
                "a choice rule has no condition",
                "give it Variable and an operator, or And, Or, Not",
                ONE_SELECTOR,
            );
            Condition::Constant(false)
        }
        // Perhaps a misspelt operator, and reported as that.
        ([], []) if fields.has_others(&["Comment", "Next", "Assign", "Output"]) => {
            variable.as_ref().map(expression::path);
            Condition::Constant(false)
        }
        ([], []) => {
            variable.as_ref().map(expression::path);
            report(
                fields,
                "a choice rule has no comparison operator",
                "such as StringEquals or IsPresent",
                &one_operator(),
            );
            Condition::Constant(false)
        }
        _ => {
            let names = boolean.iter().chain(&tests).map(|field| &*field.name).collect::<Vec<_>>();
            let message = match names.as_slice() {
                [one] => format!("a choice rule has both `Variable` and `{one}`"),
                names => {
                    format!("a choice rule has {} operators: {}", names.len(), names.join(", "))
                }
            };
            let words = if boolean.is_empty() { one_operator() } else { ONE_SELECTOR.to_owned() };
            report(fields, &message, "join rules by And, Or and Not", &words);
            Condition::Constant(false)
        }
    }
}

const ONE_SELECTOR: &str =
    "The object must have only one of the following fields, [And, Or, Not, Variable, Condition]";

fn one_operator() -> String {
    format!("There should only be one of the following fields: [{}]", OPERATORS.join(", "))
}

fn report(fields: &Fields<'_>, message: &str, hint: &str, service: &str) {
    fields.cx.report(
        Diagnostic::new(Rule::ChoiceOperator, fields.head, fields.at.place(), message)
            .hint(hint)
            .service(service),
    );
}

fn combined(field: &Field<'_>) -> Condition {
    if field.name == "Not" {
        let inner = field.fields("a choice rule").map(nested);
        return Condition::Not(Box::new(inner.unwrap_or(Condition::Constant(false))));
    }
    let elements = field.filled_elements().unwrap_or_default();
    let conditions =
        elements.iter().filter_map(|element| element.fields("a choice rule").map(nested)).collect();
    if &*field.name == "And" { Condition::And(conditions) } else { Condition::Or(conditions) }
}

/// Rules inside And, Or and Not "MUST NOT contain Next fields".
fn nested(fields: Fields<'_>) -> Condition {
    let inner = condition(&fields);
    let _ = fields.string("Comment");
    for name in ["Next", "Assign"] {
        if let Some(field) = fields.get(name) {
            fields.cx.report(
                Diagnostic::new(
                    Rule::NestedChoiceNext,
                    field.name_span,
                    field.at.place(),
                    format!("a nested choice rule cannot have `{name}`"),
                )
                .hint("only the rule that stands in `Choices` has it")
                .service(format!("Field '{name}' is not supported"))
                .service_location(Some(fields.at.place().service_location())),
            );
        }
    }
    fields.close(|name| {
        let language = QueryLanguage::JsonPath;
        Some(Misplaced::in_language(language, flow::of_other_language(name, language)?))
    });
    inner
}

fn test(fields: &Fields<'_>, variable: Option<Field<'_>>, field: &Field<'_>) -> Condition {
    let path = match variable {
        Some(variable) => expression::compared_path(&variable),
        None => {
            fields.cx.report(fields.missing(&["Variable"]));
            None
        }
    };
    let Some(operator) = Operator::find(&field.name) else {
        return Condition::Constant(false);
    };
    let built = operator.build(field);
    match (path, built) {
        (Some(variable), Some(built)) => built(variable),
        _ => Condition::Constant(false),
    }
}

/// Every comparison operator of the specification.
const OPERATORS: &[&str] = &[
    "StringEquals",
    "StringEqualsPath",
    "StringLessThan",
    "StringLessThanPath",
    "StringGreaterThan",
    "StringGreaterThanPath",
    "StringLessThanEquals",
    "StringLessThanEqualsPath",
    "StringGreaterThanEquals",
    "StringGreaterThanEqualsPath",
    "StringMatches",
    "NumericEquals",
    "NumericEqualsPath",
    "NumericLessThan",
    "NumericLessThanPath",
    "NumericGreaterThan",
    "NumericGreaterThanPath",
    "NumericLessThanEquals",
    "NumericLessThanEqualsPath",
    "NumericGreaterThanEquals",
    "NumericGreaterThanEqualsPath",
    "BooleanEquals",
    "BooleanEqualsPath",
    "TimestampEquals",
    "TimestampEqualsPath",
    "TimestampLessThan",
    "TimestampLessThanPath",
    "TimestampGreaterThan",
    "TimestampGreaterThanPath",
    "TimestampLessThanEquals",
    "TimestampLessThanEqualsPath",
    "TimestampGreaterThanEquals",
    "TimestampGreaterThanEqualsPath",
    "IsNull",
    "IsPresent",
    "IsNumeric",
    "IsString",
    "IsBoolean",
    "IsTimestamp",
];

enum Operator {
    Type(TypeTest),
    Matches,
    Compare { data_type: DataType, relation: Relation, by_path: bool },
}

type Build = Box<dyn FnOnce(Path) -> Condition>;

impl Operator {
    /// The parts of an operator's name.
    fn find(name: &str) -> Option<Self> {
        if let Some(test) = type_test(name) {
            return Some(Self::Type(test));
        }
        if name == "StringMatches" {
            return Some(Self::Matches);
        }
        let (name, by_path) = match name.strip_suffix("Path") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let (data_type, rest) = [
            ("String", DataType::String),
            ("Numeric", DataType::Numeric),
            ("Boolean", DataType::Boolean),
            ("Timestamp", DataType::Timestamp),
        ]
        .into_iter()
        .find_map(|(prefix, data_type)| Some((data_type, name.strip_prefix(prefix)?)))?;
        Some(Self::Compare { data_type, relation: relation(rest)?, by_path })
    }

    /// The condition, once the variable is known.
    fn build(self, field: &Field<'_>) -> Option<Build> {
        Some(match self {
            Self::Type(test) => {
                let expected = field.boolean()?;
                Box::new(move |variable| Condition::Type { variable, test, expected })
            }
            Self::Matches => {
                let pattern = pattern(field)?;
                Box::new(move |variable| Condition::Matches { variable, pattern })
            }
            Self::Compare { data_type, relation, by_path } => {
                let with = comparand(field, data_type, by_path)?;
                Box::new(move |variable| Condition::Compare {
                    variable,
                    comparison: Comparison { relation, with },
                })
            }
        })
    }
}

fn type_test(name: &str) -> Option<TypeTest> {
    Some(match name {
        "IsNull" => TypeTest::Null,
        "IsPresent" => TypeTest::Present,
        "IsNumeric" => TypeTest::Numeric,
        "IsString" => TypeTest::String,
        "IsBoolean" => TypeTest::Boolean,
        "IsTimestamp" => TypeTest::Timestamp,
        _ => return None,
    })
}

fn relation(name: &str) -> Option<Relation> {
    Some(match name {
        "Equals" => Relation::Equals,
        "LessThan" => Relation::LessThan,
        "GreaterThan" => Relation::GreaterThan,
        "LessThanEquals" => Relation::LessThanEquals,
        "GreaterThanEquals" => Relation::GreaterThanEquals,
        _ => return None,
    })
}

fn comparand(field: &Field<'_>, data_type: DataType, by_path: bool) -> Option<Comparand> {
    if by_path {
        return expression::compared_path(field).map(|path| Comparand::Path(data_type, path));
    }
    match data_type {
        DataType::String => field.string().map(|text| Comparand::String(text.to_owned())),
        DataType::Boolean => field.boolean().map(Comparand::Boolean),
        DataType::Numeric => field.number(f64::MIN..=f64::MAX).map(Comparand::Numeric),
        DataType::Timestamp => expression::timestamp(field).map(Comparand::Timestamp),
    }
}

/// "If an open escape backslash \ is found in the StringMatches string, the interpreter will throw
/// a runtime error": found here already.
fn pattern(field: &Field<'_>) -> Option<String> {
    let text = field.string()?;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        if character != '\\' {
            continue;
        }
        if !matches!(characters.next(), Some((_, '*' | '\\'))) {
            field.cx.report(
                Diagnostic::new(
                    Rule::InvalidStringPattern,
                    field.cx.inside(field.node, at..at + 1),
                    field.at.place(),
                    "a backslash in a pattern must be followed by `*` or another backslash",
                )
                .hint(r"write `\\*` for a star and `\\\\` for a backslash in JSON"),
            );
            return None;
        }
    }
    Some(text.to_owned())
}
