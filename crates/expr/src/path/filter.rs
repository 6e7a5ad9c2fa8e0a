//! `[?(…)]`: what a filter says. What its comparisons mean is [`super::relation`]'s matter.

use std::borrow::Cow;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::evaluate::{Failure, Frame};
use super::literal;
use super::parse::{Parser, Place};
use super::relation::{Operand, Operator};
use super::token::Steps;
use crate::SyntaxError;

/// Bytes a compiled regular expression may take.
const REGEX_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, Clone)]
pub(super) enum Filter {
    Or(Vec<Filter>),
    And(Vec<Filter>),
    Not(Box<Filter>),
    Exists(Query),
    Relation(Term, Operator, Term),
}

/// A path inside a filter.
#[derive(Debug, Clone)]
pub(super) struct Query {
    /// Whether it starts from the document (`$`) rather than from the item (`@`).
    from_document: bool,
    steps: Steps,
}

#[derive(Debug, Clone)]
pub(super) enum Term {
    Query(Query),
    Value(Value),
    Pattern(Regex),
}

impl Filter {
    /// Whether the item passes. A comparison that cannot be made does not pass.
    pub(super) fn accepts(&self, item: &Value, frame: &Frame<'_>) -> Result<bool, Failure> {
        match self.holds(item, frame) {
            Err(Failure::NotFound(_) | Failure::Invalid(_)) => Ok(false),
            other => other,
        }
    }

    fn holds(&self, item: &Value, frame: &Frame<'_>) -> Result<bool, Failure> {
        frame.spend(1)?;
        match self {
            Self::Or(filters) => {
                for filter in filters {
                    if filter.holds(item, frame)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Self::And(filters) => {
                for filter in filters {
                    if !filter.holds(item, frame)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Self::Not(filter) => Ok(!filter.holds(item, frame)?),
            Self::Exists(query) => Ok(query.value(item, frame)?.is_some()),
            Self::Relation(left, operator, right) => {
                let (left, right) = (left.operand(item, frame)?, right.operand(item, frame)?);
                frame.spend(operator.work(&left, &right))?;
                operator.holds(&left, &right)
            }
        }
    }
}

impl Query {
    fn value<'a>(
        &self,
        item: &'a Value,
        frame: &'a Frame<'_>,
    ) -> Result<Option<Cow<'a, Value>>, Failure> {
        let start = if self.from_document { frame.document } else { item };
        if let Some(found) = self.steps.walk(start) {
            return Ok(Some(Cow::Borrowed(found)));
        }
        match frame.value(&self.steps, start) {
            Ok(value) => Ok(Some(value)),
            Err(Failure::NotFound(_)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }
}

impl Term {
    fn operand<'a>(
        &'a self,
        item: &'a Value,
        frame: &'a Frame<'_>,
    ) -> Result<Operand<'a>, Failure> {
        Ok(match self {
            Self::Value(value) => Operand::Value(Cow::Borrowed(value)),
            Self::Pattern(pattern) => Operand::Pattern(pattern),
            Self::Query(query) => {
                query.value(item, frame)?.map_or(Operand::Undefined, Operand::Value)
            }
        })
    }
}

/// From the `?`; stops before the closing `]`.
pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Filter, SyntaxError> {
    parser.at += 1;
    parser.blanks();
    if parser.peek() != Some(b'(') {
        return Err(parser.invalid("expected `(` after `?`").with_hint("write [?(@.x > 1)]"));
    }
    group(parser)
}

fn group(parser: &mut Parser<'_>) -> Result<Filter, SyntaxError> {
    parser.descend()?;
    parser.at += 1;
    let filter = or(parser)?;
    parser.blanks();
    if !parser.eat(b')') {
        return Err(parser
            .invalid("expected `&&`, `||` or `)`")
            .with_hint("conditions are joined by `&&` and `||`"));
    }
    parser.ascend();
    Ok(filter)
}

fn or(parser: &mut Parser<'_>) -> Result<Filter, SyntaxError> {
    let mut filters = vec![and(parser)?];
    while joined(parser, "||") {
        filters.push(and(parser)?);
    }
    Ok(match filters.len() {
        1 => filters.swap_remove(0),
        _ => Filter::Or(filters),
    })
}

fn and(parser: &mut Parser<'_>) -> Result<Filter, SyntaxError> {
    let mut filters = vec![not(parser)?];
    while joined(parser, "&&") {
        filters.push(not(parser)?);
    }
    Ok(match filters.len() {
        1 => filters.swap_remove(0),
        _ => Filter::And(filters),
    })
}

fn joined(parser: &mut Parser<'_>, operator: &str) -> bool {
    parser.blanks();
    let found = parser.rest().starts_with(operator);
    parser.at += if found { operator.len() } else { 0 };
    found
}

fn not(parser: &mut Parser<'_>) -> Result<Filter, SyntaxError> {
    parser.blanks();
    let from = parser.at;
    if !parser.eat(b'!') {
        return match parser.peek() {
            Some(b'(') => group(parser),
            _ => condition(parser),
        };
    }
    parser.blanks();
    let path = matches!(parser.peek(), Some(b'@' | b'$'));
    parser.descend()?;
    let filter = not(parser)?;
    parser.ascend();
    // Jayway reads `!@.x == 1` as `@.x == 1`.
    if path && matches!(filter, Filter::Relation(..)) {
        let message = "`!` stands before a path or a parenthesis only";
        return Err(parser.unsupported(message, from).with_hint("write !(@.x == 1)"));
    }
    Ok(Filter::Not(filter.into()))
}

fn condition(parser: &mut Parser<'_>) -> Result<Filter, SyntaxError> {
    let from = parser.at;
    let left = term(parser)?;
    let adjacent = matches!(parser.peek(), Some(b'&' | b'|'));
    parser.blanks();
    match (parser.peek(), left) {
        (Some(b'&' | b'|'), Term::Query(_)) if adjacent => Err(parser
            .unsupported("a path must be followed by a blank here", from)
            .with_hint("write `@.a && @.b`")),
        (Some(b')' | b'&' | b'|'), Term::Query(query)) => exists(query, parser, from),
        (Some(b')' | b'&' | b'|') | None, _) => {
            let message = "expected a comparison, or a path that must exist";
            Err(SyntaxError::invalid(message, from..parser.at))
        }
        (_, left) => {
            let operator = Operator::parse(parser)?;
            let right = term(parser)?;
            Ok(Filter::Relation(left, operator, right))
        }
    }
}

/// Jayway finds an indefinite path to exist unless some field is missing somewhere.
fn exists(query: Query, parser: &Parser<'_>, from: usize) -> Result<Filter, SyntaxError> {
    if query.steps.is_definite() {
        return Ok(Filter::Exists(query));
    }
    let message = "whether an indefinite path exists cannot be asked";
    Err(parser.unsupported(message, from).with_hint("name one node: [?(@.x)]"))
}

fn term(parser: &mut Parser<'_>) -> Result<Term, SyntaxError> {
    parser.blanks();
    match parser.peek() {
        Some(start @ (b'@' | b'$')) => {
            parser.at += 1;
            let name = parser.rest().chars().next().unwrap_or_default();
            if start == b'$' && (name == '$' || super::parse::is_name_character(name)) {
                let message = "a filter reads `$` and `@` only, no variable or context object";
                return Err(parser.unsupported(message, parser.at - 1));
            }
            Ok(Term::Query(Query {
                from_document: start == b'$',
                steps: Steps::new(parser.steps(Place::Inside)?),
            }))
        }
        Some(b'/') => pattern(parser).map(Term::Pattern),
        _ => literal::json(parser).map(Term::Value),
    }
}

/// `/…/i`, which must match the whole text.
fn pattern(parser: &mut Parser<'_>) -> Result<Regex, SyntaxError> {
    let from = parser.at;
    parser.at += 1;
    let Some(text) = literal::until_unescaped(parser, b'/') else {
        let message = "a regular expression that does not end";
        return Err(SyntaxError::invalid(message, from..from + 1));
    };
    let flags = parser.take_while(|byte| byte.is_ascii_alphabetic());
    if let Some(flag) = flags.chars().find(|flag| !"ims".contains(*flag)) {
        let message = format!("unknown flag `{flag}` of a regular expression");
        return Err(parser.unsupported(message, from));
    }
    RegexBuilder::new(&format!("\\A(?:{text})\\z"))
        .case_insensitive(flags.contains('i'))
        .multi_line(flags.contains('m'))
        .dot_matches_new_line(flags.contains('s'))
        .size_limit(REGEX_BYTES_MAX)
        .build()
        .map_err(|error| {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default().trim();
            parser.unsupported(format!("regular expression: {reason}"), from)
        })
}
