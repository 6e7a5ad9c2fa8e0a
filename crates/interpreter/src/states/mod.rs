//! One file for each type of state.

pub(crate) mod choice;
pub(crate) mod fail;
pub(crate) mod map;
pub(crate) mod parallel;
pub(crate) mod pass;
pub(crate) mod settings;
pub(crate) mod succeed;
pub(crate) mod task;
pub(crate) mod wait;
