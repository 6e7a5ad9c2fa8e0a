//! From a document to the model: one file for each kind of object, every problem reported.
//!
//! Lowering never stops at a problem. A field that cannot be read gets a harmless stand-in, so
//! that the rest is still checked; a model with errors is not handed out.

mod choice;
mod expression;
mod fail;
mod flow;
mod jsonata_words;
mod machine;
mod map;
mod map_io;
mod names;
mod operand;
mod parallel;
mod pass;
mod reader;
mod request;
mod retry;
mod state;
mod task;
mod unevaluated;
mod wait;
mod weight;

pub(crate) use machine::lower;
pub(crate) use reader::{Cx, Trail};
