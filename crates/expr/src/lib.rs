//! Expressions of the Amazon States Language: (expression, JSON) → JSON.
//!
//! Everything here is compiled once and evaluated many times. Nothing here reads a clock
//! or draws randomness: what is not deterministic comes in through [`Entropy`].
//! Nothing here knows of states, machines or dialects: callers turn an [`EvalError`] into
//! the error name and the message their place in the language calls for.

pub mod effort;
pub mod entropy;
mod error;
pub mod intrinsic;
pub mod jsonata;
pub mod path;
mod scope;
mod size;
pub mod template;
pub mod timestamp;

pub use effort::{Effort, Stopwatch};
pub use entropy::Entropy;
pub use error::{EvalError, SyntaxError, SyntaxErrorKind};
pub use scope::{NoVariables, Scope, Variables};
pub use serde_json::Value;
