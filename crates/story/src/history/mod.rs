//! The history that the AWS API returns, event by event.

mod event;

pub use event::{HistoryEvent, millis};
