//! Documents with places: JSON and YAML texts that remember where each value stood, read field by field, and
//! what is wrong with them.
//!
//! What a document is about (a state machine, a configuration, mocked responses) is not known here.

mod collector;
mod diagnostic;
pub mod document;
pub mod duration;
mod nearest;
mod place;
pub mod reader;
mod severity;
pub mod terminal;
mod text;
pub mod words;

pub use collector::{Collected, Collector, DIAGNOSTICS_MAX};
pub use diagnostic::{Diagnostic, Rule, ServiceForm};
pub use nearest::{near_miss, nearest};
pub use place::Place;
pub use severity::Severity;
pub use text::{Format, Position, Source, Span};
