//! Settings that are fixed, found by a path (`…Path`), or computed by JSONata.

use std::ops::RangeInclusive;

use super::expression;
use super::reader::{Field, Fields};
use everstep_source::document::Content;

use crate::model::{Operand, QueryLanguage};

/// `name`, or `path_name` in JSONPath, as an integer.
pub(super) fn integer(
    fields: &Fields<'_>,
    language: QueryLanguage,
    name: &'static str,
    path_name: &'static str,
    bounds: RangeInclusive<u64>,
) -> Option<Operand<u64>> {
    operand(fields, language, name, path_name, |field| field.integer(bounds.clone()))
}

pub(super) fn number(
    fields: &Fields<'_>,
    language: QueryLanguage,
    name: &'static str,
    path_name: &'static str,
    bounds: RangeInclusive<f64>,
) -> Option<Operand<f64>> {
    operand(fields, language, name, path_name, |field| field.number(bounds.clone()))
}

pub(super) fn operand<T>(
    fields: &Fields<'_>,
    language: QueryLanguage,
    name: &'static str,
    path_name: &'static str,
    literal: impl Fn(&Field<'_>) -> Option<T>,
) -> Option<Operand<T>> {
    if language == QueryLanguage::Jsonata {
        let field = fields.get(name)?;
        return match field.node.content {
            Content::String(_) if is_expression(&field) => {
                expression::jsonata(&field).map(Operand::Jsonata)
            }
            _ if expression::is_torn(&field) => None,
            _ => literal(&field).map(Operand::Literal),
        };
    }
    fields.exclude(name, path_name);
    let fixed = fields.get(name).and_then(|field| literal(&field)).map(Operand::Literal);
    let found = fields.get(path_name);
    fixed.or_else(|| expression::reference_path(&found?).map(Operand::Path))
}

fn is_expression(field: &Field<'_>) -> bool {
    field.node.as_str().is_some_and(|text| everstep_expr::jsonata::delimited(text).is_some())
}
