//! Fail states.

use super::expression;
use super::reader::Field;
use super::state::Reading;
use crate::model::{Fail, Kind, Text};

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    Kind::Fail(Fail {
        error: text(reading, "Error", "ErrorPath"),
        cause: text(reading, "Cause", "CausePath"),
    })
}

fn text(reading: &Reading<'_, '_>, name: &'static str, path_name: &'static str) -> Option<Text> {
    let fields = &reading.fields;
    if reading.is_jsonata() {
        return jsonata(&fields.get(name)?);
    }
    fields.exclude(name, path_name);
    let literal = fields.string(name).map(|text| Text::Literal(text.to_owned()));
    let found = fields.get(path_name);
    literal.or_else(|| expression::text_expression(&found?).map(Text::Expression))
}

fn jsonata(field: &Field<'_>) -> Option<Text> {
    let text = field.string()?;
    match everstep_expr::jsonata::delimited(text) {
        Some(_) => expression::jsonata(field).map(Text::Jsonata),
        None => {
            expression::is_torn(field);
            Some(Text::Literal(text.to_owned()))
        }
    }
}
