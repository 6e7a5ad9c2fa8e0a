//! How far one evaluation may go. Every bound ends in [`EvalError::Limit`].

use crate::EvalError;

/// Longest expression, in bytes. AWS bounds a whole definition by 1 MiB.
pub(super) const TEXT_BYTES_MAX: usize = 256 * 1024;

/// Longest sequence. The service itself stops one element later.
pub(super) const SEQUENCE_LENGTH_MAX: usize = 873_782;

/// Nested evaluation steps; a recursive call takes about three.
pub(super) const DEPTH_MAX: usize = 1_000;

/// How deep data may nest, on the way in and on the way out.
pub(super) const DATA_DEPTH_MAX: usize = 1_000;

/// How deep functions and data may hold each other: the engine releases them recursively.
pub(super) const NESTING_MAX: usize = 2_000;

/// What a function that an expression makes costs, at the least.
pub(super) const CLOSURE_BYTES: usize = 512;

/// The stack of an expression that makes functions while it runs; only what is used takes memory.
pub(super) const STACK_BYTES: usize = 64 * 1024 * 1024;

/// Milliseconds of evaluation.
pub(super) use crate::effort::TIME_MS_MAX;

/// Longest string, in bytes.
pub(super) const STRING_BYTES_MAX: usize = 1024 * 1024;

/// Size of a compiled regular expression, which bounds the time of a search; classes of
/// Unicode count like those of ASCII.
pub(super) const REGEX_BYTES_MAX: usize = 64 * 1024;

/// Longest date, time or number picture, in bytes: reading one can be quadratic.
pub(super) const PICTURE_BYTES_MAX: usize = 1024;

/// Bytes that one evaluation may allocate in all, counted where data can grow.
pub(super) const ALLOCATED_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Values that a result may hold, shared parts counted each time.
pub(super) const RESULT_VALUES_MAX: usize = 4 * 1024 * 1024;

/// Values that an evaluation may walk through to find out how large others are.
pub(super) const WALKED_VALUES_MAX: usize = 16 * 1024 * 1024;

/// Longest message of an error, in characters; some quote the data.
pub(super) const MESSAGE_LENGTH_MAX: usize = 4096;

pub(super) fn memory() -> EvalError {
    limit("Expression evaluation memory limit exceeded")
}

pub(super) fn depth() -> EvalError {
    limit("Expression evaluation depth limit exceeded")
}

pub(super) use crate::effort::time_exceeded as time;

pub(super) fn data_depth() -> EvalError {
    limit(&format!("data nested deeper than {DATA_DEPTH_MAX} levels cannot be evaluated"))
}

fn limit(message: &str) -> EvalError {
    EvalError::Limit { message: message.to_owned() }
}
