//! What a definition or a function's policy does, worked out: facts first, then words for them.
//!
//! Nothing is run. The facts are the same for people and programs: [`text`] writes them out,
//! and they serialize as they are.

mod errors;
mod flow;
mod function;
mod handling;
mod machine;
mod scope;
mod state;
pub mod text;
mod time;
mod trigger;
mod words;

pub use function::FunctionFacts;
pub use machine::MachineFacts;
pub use scope::{Found, each};
pub use state::StateFacts;
pub use trigger::TriggerFacts;
