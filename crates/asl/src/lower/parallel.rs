//! Parallel states.

use std::sync::Arc;

use super::machine;
use super::reader::Close as _;
use super::retry;
use super::state::{Reading, transition};
use crate::model::{Kind, Parallel};

pub(super) fn lower(reading: &Reading<'_, '_>) -> Kind {
    let mut branches = Vec::new();
    if let Some(field) = reading.fields.require("Branches") {
        for element in field.filled_elements().unwrap_or_default() {
            if let Some(fields) = element.fields("a branch") {
                branches.push(Arc::new(machine::inner(&fields, reading.around)));
                fields.close(machine::only_of_machine);
            }
        }
    }
    let (retry, catch) = retry::lower(reading);
    Kind::Parallel(Parallel { branches, retry, catch, transition: transition(reading) })
}
