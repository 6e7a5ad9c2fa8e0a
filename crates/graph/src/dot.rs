//! placeholder
use crate::model::Graph;
/// x
pub fn dot(_: &Graph) -> String { String::new() }
