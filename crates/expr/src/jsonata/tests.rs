//! Expressions as users write them.

use serde_json::{Map, Value, json};

use super::*;
use crate::{Entropy, EvalError};
