//! How much memory a result may take.
//!
//! A short definition can ask for many copies of a large input. Callers that copy only a few
//! times need not count.

use std::cell::Cell;

use serde_json::Value;

use crate::EvalError;

/// Bytes, roughly. Far above any payload a workflow may have.
const BYTES_MAX: usize = 64 << 20;
/// So many copies of any payload are harmless.
const COPIES_MAX: usize = 64;

/// What may still be copied.
pub(crate) struct Allowance {
    left: Option<Cell<usize>>,
}

impl Allowance {
    /// `copies` is how many values will be copied at the most.
    pub(crate) fn for_copies(copies: usize) -> Self {
        let left = (copies > COPIES_MAX).then(|| Cell::new(BYTES_MAX));
        Self { left }
    }

    pub(crate) fn spend(&self, value: &Value) -> Result<(), EvalError> {
        let Some(left) = &self.left else {
            return Ok(());
        };
        let size = size(value);
        if size > left.get() {
            let message = format!("the result is larger than {BYTES_MAX} bytes");
            return Err(EvalError::Limit { message });
        }
        left.set(left.get() - size);
        Ok(())
    }
}

fn size(value: &Value) -> usize {
    let inner: usize = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value)).sum(),
        _ => 0,
    };
    inner + size_of::<Value>()
}
