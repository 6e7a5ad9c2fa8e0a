//! Stories in words: lines for a terminal, with or without colours.

mod end;
mod facts;
mod lines;
mod open;
mod style;

pub use end::{End, document, status_name, verdict};
pub use facts::{facts, member, moment, payload};
pub use lines::{MARGIN, lines};
pub use open::open_failure;
pub use style::Style;
