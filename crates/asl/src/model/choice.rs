//! Choice states: rules, conditions, comparison operators.

use everstep_expr::jsonata;
use everstep_expr::path::Path;
use everstep_expr::timestamp::Timestamp;

use super::{Assign, Target};

#[derive(Debug, Clone)]
pub struct Choice {
    pub rules: Vec<ChoiceRule>,
    pub default: Option<Target>,
}

#[derive(Debug, Clone)]
pub struct ChoiceRule {
    pub comment: Option<String>,
    pub condition: Condition,
    pub next: Target,
    pub assign: Option<Assign>,
    /// Only in JSONata.
    pub output: Option<jsonata::Template>,
}

#[derive(Debug, Clone)]
pub enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    /// `IsPresent`, `IsString`, … and whether the answer should be yes.
    Type {
        variable: Path,
        test: TypeTest,
        expected: bool,
    },
    /// `StringMatches`
    Matches {
        variable: Path,
        pattern: String,
    },
    Compare {
        variable: Path,
        comparison: Comparison,
    },
    Jsonata(jsonata::Expression),
    /// `"Condition": true`
    Constant(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeTest {
    Null,
    Present,
    Numeric,
    String,
    Boolean,
    Timestamp,
}

/// `NumericLessThan: 3`, `StringEqualsPath: $.x`, …
#[derive(Debug, Clone)]
pub struct Comparison {
    pub relation: Relation,
    pub with: Comparand,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    Equals,
    LessThan,
    GreaterThan,
    LessThanEquals,
    GreaterThanEquals,
}

/// What is compared with; the data type comes from the operator's name.
#[derive(Debug, Clone)]
pub enum Comparand {
    String(String),
    Numeric(f64),
    Boolean(bool),
    Timestamp(Timestamp),
    Path(DataType, Path),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataType {
    String,
    Numeric,
    Boolean,
    Timestamp,
}
