//! Documents with places: JSON and YAML texts that remember where each value stood.
//!
//! What a document is about (a state machine, a configuration, mocked responses) is not known here.

pub mod document;
pub mod duration;
mod nearest;
mod place;
mod severity;
mod text;
pub mod words;

pub use nearest::nearest;
pub use place::Place;
pub use severity::Severity;
pub use text::{Format, Position, Source, Span};
