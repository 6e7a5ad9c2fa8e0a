//! The outputs of the children that have succeeded, as long as the parent can take all of them.
//!
//! Once they are too many bytes, none is kept and none is noted: the run fails when its children are over, and so does
//! every redrive of it, because children that succeeded do not run again. So memory and notes are bounded by what the
//! parent can take, not by the number of children.

use std::collections::BTreeMap;

use everstep_history::{Failure, Payload};

/// Bytes that the results of a Map Run may have together, as one array.
pub const OUTPUT_BYTES_MAX: usize = 16 << 20;

#[derive(Debug)]
pub(super) struct Outputs {
    bytes_max: usize,
    /// Of the array that they will be: `[`, and each with the comma or bracket after it.
    bytes: usize,
    kept: Option<BTreeMap<u32, Payload>>,
}

impl Outputs {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: 1, kept: Some(BTreeMap::new()) }
    }

    /// A child has succeeded. An output that was not kept was too much already.
    pub(super) fn add(&mut self, index: u32, output: Option<Payload>) {
        let Some(output) = output.filter(|_| self.kept.is_some()) else {
            self.kept = None;
            return;
        };
        self.bytes = self.bytes.saturating_add(output.size() + 1);
        match &mut self.kept {
            Some(kept) if self.bytes <= self.bytes_max => {
                kept.insert(index, compact(output));
            }
            _ => self.kept = None,
        }
    }

    pub(super) fn get(&self, index: u32) -> Option<&Payload> {
        self.kept.as_ref()?.get(&index)
    }

    /// Whether the parent cannot take them.
    pub(super) fn is_exceeded(&self) -> bool {
        self.kept.is_none()
    }

    /// The results of so many children, in their order. Of a child that failed, no more is needed than that.
    pub(super) fn take(&mut self, children: u32) -> Vec<Result<Payload, Failure>> {
        let mut kept = self.kept.take().unwrap_or_default();
        (0..children).map(|index| kept.remove(&index).ok_or_else(Failure::default)).collect()
    }
}

/// A text with much white space takes more memory than it counts for.
fn compact(output: Payload) -> Payload {
    if output.as_text().len() <= output.size() {
        return output;
    }
    Payload::new(output.into_value())
}

/// What a run fails with whose results are too large, in the words of the service.
pub(super) fn too_large(state: &str) -> Failure {
    let cause = format!(
        "The state/task '{state}' returned a result with a size exceeding the maximum number of bytes service limit."
    );
    Failure::new("States.DataLimitExceeded", cause)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(bytes_max: usize, exceeded: bool) {
        let mut outputs = Outputs::new(bytes_max);
        outputs.add(0, Some(Payload::new(json!("abc"))));
        outputs.add(2, Some(Payload::new(json!(10))));
        assert_eq!(outputs.is_exceeded(), exceeded, "{bytes_max}");
        assert_eq!(outputs.get(0).is_none(), exceeded);
    }

    #[test]
    fn the_bound_is_that_of_the_whole_array() {
        let array = r#"["abc",10]"#;
        check(array.len(), false);
        check(array.len() - 1, true);
    }

    #[test]
    fn results_are_in_the_order_of_the_children() {
        let mut outputs = Outputs::new(100);
        outputs.add(2, Some(Payload::new(json!(2))));
        outputs.add(0, Some(Payload::new(json!(0))));
        let expected = [Ok(Payload::new(json!(0))), Err(Failure::default())];
        assert_eq!(outputs.take(2), expected);
    }

    #[test]
    fn what_was_too_much_remains_too_much() {
        let mut outputs = Outputs::new(100);
        outputs.add(0, None);
        outputs.add(1, Some(Payload::new(json!(1))));
        assert!(outputs.is_exceeded());
        assert_eq!(outputs.get(1), None);
    }

    #[test]
    fn white_space_is_not_kept() {
        let mut outputs = Outputs::new(100);
        let spaced = Payload::from_text(&format!("{}1", " ".repeat(1000))).expect("JSON");
        outputs.add(0, Some(spaced));
        assert_eq!(outputs.get(0).map(Payload::as_text), Some("1"));
    }
}
