//! Durations as people write and read them.

mod parse;
mod show;

pub use parse::{Invalid, from_seconds, parse};
pub use show::{brief, exact, measured, range, rounded};
