//! Map states: where items come from, how they are grouped, what runs for each.

use std::sync::Arc;

use everstep_expr::jsonata;
use everstep_expr::path::ReferencePath;

use super::{Catcher, Machine, Operand, Payload, Retrier, Transition};

#[derive(Debug, Clone)]
pub struct Map {
    pub items: Items,
    pub item_reader: Option<ItemReader>,
    /// `ItemSelector`, or the older `Parameters`.
    pub item_selector: Option<Payload>,
    pub item_batcher: Option<ItemBatcher>,
    /// `ItemProcessor`, or the older `Iterator`.
    pub processor: Arc<Machine>,
    /// Which of the two it is.
    pub processor_field: &'static str,
    pub mode: Mode,
    pub label: Option<String>,
    pub max_concurrency: Option<Operand<u64>>,
    pub tolerated_failure_count: Option<Operand<u64>>,
    pub tolerated_failure_percentage: Option<Operand<f64>>,
    pub result_writer: Option<ResultWriter>,
    pub retry: Vec<Retrier>,
    pub catch: Vec<Catcher>,
    pub transition: Transition,
}

impl Map {
    /// Whether it says how many items may fail.
    #[must_use]
    pub fn has_tolerance(&self) -> bool {
        self.tolerated_failure_count.is_some() || self.tolerated_failure_percentage.is_some()
    }
}

#[derive(Debug, Clone)]
pub enum Items {
    /// All of the effective input.
    Whole,
    Path(ReferencePath),
    /// `Items`: an expression, or an array that may hold expressions.
    Jsonata(jsonata::Template),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    Inline,
    Distributed(ExecutionType),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExecutionType {
    Standard,
    Express,
}

/// A dataset in place of an array in the input.
#[derive(Debug, Clone)]
pub struct ItemReader {
    pub resource: String,
    pub arguments: Option<Payload>,
    pub config: ReaderConfig,
}

#[derive(Debug, Clone, Default)]
pub struct ReaderConfig {
    pub input_type: Option<String>,
    pub transformation: Option<String>,
    pub csv_header_location: Option<String>,
    pub csv_headers: Option<Vec<String>>,
    pub csv_delimiter: Option<String>,
    pub max_items: Option<Operand<u64>>,
    pub items_pointer: Option<String>,
    pub manifest_type: Option<String>,
}

#[derive(Debug, Clone)]
pub struct ItemBatcher {
    pub max_items: Option<Operand<u64>>,
    pub max_input_bytes: Option<Operand<u64>>,
    pub batch_input: Option<Payload>,
}

#[derive(Debug, Clone)]
pub struct ResultWriter {
    pub resource: Option<String>,
    pub arguments: Option<Payload>,
    pub transformation: Option<String>,
    pub output_type: Option<String>,
}
