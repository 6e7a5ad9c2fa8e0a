//! Pass states.

use super::state::{Reading, transition};
use crate::model::{Kind, Pass};

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let result = if reading.is_jsonata() {
        None
    } else {
        reading.fields.get("Result").map(|field| field.node.to_value())
    };
    Kind::Pass(Pass { result, transition: transition(reading) })
}
