//! Amazon States Language definitions.

pub mod document;
pub mod source;
