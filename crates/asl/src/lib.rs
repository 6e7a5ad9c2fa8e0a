//! Amazon States Language definitions.
