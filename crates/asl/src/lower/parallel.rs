//! Parallel states.

use super::machine;
use super::reader::Fields;
use super::retry;
use super::state::{Reading, transition};
use crate::model::{Kind, Parallel};

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let mut branches = Vec::new();
    if let Some(field) = reading.fields.require("Branches") {
        let elements = field.filled_array().unwrap_or_default();
        for element in field.elements(elements) {
            if let Some(fields) = Fields::new(field.cx, element.at, "a branch", element.node) {
                branches.push(machine::inner(&fields, reading.around));
                fields.finish(machine::only_of_machine);
            }
        }
    }
    let (retry, catch) = retry::lower(reading);
    Kind::Parallel(Parallel { branches, retry, catch, transition: transition(reading) })
}
