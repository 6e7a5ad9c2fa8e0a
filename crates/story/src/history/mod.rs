//! The history that the AWS API returns, read back into the journal's events.

mod event;
mod parts;
mod reader;

pub use event::{HistoryEvent, millis};
pub use reader::HistoryReader;
