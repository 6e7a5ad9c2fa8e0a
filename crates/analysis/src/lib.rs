//! What definitions and functions will do, worked out without running them.
//!
//! [`explain`] describes one definition, state or function; [`agreement`] compares the definitions of a
//! configuration with its functions; [`code`] looks for the code that a configuration names. Nothing here
//! prints, calls a server or knows what an execution did.

pub mod agreement;
pub mod code;
pub mod explain;
