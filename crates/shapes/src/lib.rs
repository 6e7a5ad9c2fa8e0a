//! What the actions of AWS services return: the shapes of their responses, and whether a value has
//! one of them.
//!
//! The facts are generated (`tools/shapes.py`) and packed into `shapes.bin`; a service is unpacked
//! when it is first asked for. Which actions a state machine can call, and how, is not known here.

mod check;
mod table;

pub use check::{Mismatch, Problem, Required};
pub use table::{Output, output};
