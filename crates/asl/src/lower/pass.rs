//! Pass states.

use super::state::{Reading, transition};
use super::unevaluated;
use crate::model::{Kind, Pass};

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let result = if reading.is_jsonata() {
        None
    } else {
        reading.fields.get("Result").map(|field| {
            unevaluated::check_result(&field);
            field.node.to_value()
        })
    };
    Kind::Pass(Pass { result, transition: transition(reading) })
}
