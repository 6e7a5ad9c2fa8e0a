//! How deep functions hold each other.
//!
//! A function keeps the values of the variables that it reads, functions among them. The engine releases such
//! a chain recursively, so its length must fit on the stack.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{EvaluatorError, StoredLambda};
use jsonata_core::value::{JValue, with_stack};

use super::functions::thrown;
use super::guard::Ledger;
use super::limits;

/// What is known of the values of one evaluation.
#[derive(Default)]
pub(super) struct Nesting {
    /// By address. The value is kept, so that no other can have its address.
    known: RefCell<HashMap<usize, (JValue, usize)>>,
    deepest: Cell<usize>,
}

impl Nesting {
    /// How many levels `value` has: arrays, objects, and functions with what they hold.
    pub(super) fn of(&self, value: &JValue, ledger: &Ledger) -> Result<usize, EvaluatorError> {
        let address = match value {
            JValue::Array(items) => items.as_ptr().addr(),
            JValue::Object(fields) => Rc::as_ptr(fields).addr(),
            JValue::Lambda(function) => Rc::as_ptr(function).addr(),
            _ => return Ok(0),
        };
        if let Some((_, known)) = self.known.borrow().get(&address) {
            return Ok(*known);
        }
        ledger.visit()?;
        let levels = 1 + with_stack(|| match value {
            JValue::Array(items) => self.deepest_of(items.iter(), ledger),
            JValue::Object(fields) => self.deepest_of(fields.values(), ledger),
            JValue::Lambda(function) => self.held_by(function, ledger),
            _ => Ok(0),
        })?;
        self.check(levels)?;
        self.deepest.set(self.deepest.get().max(levels));
        self.known.borrow_mut().insert(address, (value.clone(), levels));
        Ok(levels)
    }

    pub(super) fn release(&self) {
        self.known.take();
    }

    fn held_by(&self, function: &StoredLambda, ledger: &Ledger) -> Result<usize, EvaluatorError> {
        // The arguments of a partial application cannot be seen: it may hold the deepest of all.
        if is_partial(function) {
            return Ok(self.deepest.get());
        }
        self.deepest_of(function.captured_env.values().chain(&function.captured_data), ledger)
    }

    fn deepest_of<'v>(
        &self,
        mut values: impl Iterator<Item = &'v JValue>,
        ledger: &Ledger,
    ) -> Result<usize, EvaluatorError> {
        values.try_fold(0, |deepest, value| Ok(deepest.max(self.of(value, ledger)?)))
    }

    pub(super) fn check(&self, levels: usize) -> Result<(), EvaluatorError> {
        if levels > limits::NESTING_MAX {
            return Err(thrown("D1011: functions hold each other too deep"));
        }
        Ok(())
    }
}

/// The engine gives a partial application no body, and names its parameters so.
fn is_partial(function: &StoredLambda) -> bool {
    function.body == AstNode::Null && function.params.first().is_some_and(|name| name == "__p0")
}
