//! From text to a checked and guarded syntax tree.

use std::ops::Range;
use std::panic::catch_unwind;

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::error_code_prefix;
use jsonata_core::parser::{self, ParserError};

use super::analysis::{Analysis, ContextUse, analyse};
use super::limits;
use super::plan::{Plan, plan};
use super::rewrite::rewrite;
use super::tokens::{Token, TokenKind, tokens};
use crate::SyntaxError;

/// What of JSONata is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// As Step Functions has it.
    StepFunctions,
    /// The whole language, for its own test-suite.
    Whole,
}

#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) text: String,
    /// Rewritten to keep within its limits.
    pub(super) ast: AstNode,
    /// Whether it makes functions that it may keep: it needs a larger stack then.
    pub(super) makes_functions: bool,
    pub(super) plan: Option<Plan>,
    pub(super) analysis: Analysis,
}

pub(super) fn compile(text: &str, dialect: Dialect) -> Result<Compiled, SyntaxError> {
    if text.len() > limits::TEXT_BYTES_MAX {
        let message = format!(
            "an expression of {} bytes is longer than {} bytes",
            text.len(),
            limits::TEXT_BYTES_MAX
        );
        return Err(SyntaxError::invalid(message, 0..text.len()));
    }
    let trimmed = text.trim();
    let offset = text.len() - text.trim_start().len();
    compile_trimmed(trimmed, dialect).map_err(|mut error| {
        error.span = error.span.start + offset..error.span.end + offset;
        error
    })
}

fn compile_trimmed(text: &str, dialect: Dialect) -> Result<Compiled, SyntaxError> {
    if text.is_empty() {
        return Err(SyntaxError::invalid("the expression is empty", 0..0)
            .with_hint("write an expression between {% and %}, such as $states.input"));
    }
    let tokens = tokens(text);
    if let Some(span) = foreign_signature(text, &tokens) {
        let message = "S0401: a function signature can only hold ASCII characters";
        return Err(SyntaxError::invalid(message, span));
    }
    let ast = parse(text).map_err(|error| syntax_error(text, &tokens, &error))?;
    let analysis = analyse(&ast);
    if dialect == Dialect::StepFunctions {
        restrict(text, &tokens, &analysis)?;
    }
    if let Some((pattern, reason)) = &analysis.regex {
        return Err(bad_regex(text, &tokens, pattern, reason));
    }
    let plan = plan(&ast);
    let (ast, makes_functions) = rewrite(ast, &analysis.names);
    Ok(Compiled { text: text.to_owned(), plan, ast, makes_functions, analysis })
}

/// The engine's parser. It is not ours: should it panic, then the text is only refused.
fn parse(text: &str) -> Result<AstNode, ParserError> {
    let refused = || ParserError::InvalidSyntax("the expression cannot be parsed".to_owned());
    catch_unwind(|| parser::parse(text)).unwrap_or_else(|_| Err(refused()))
}

/// A character in a signature, `function($x)<n:n>{…}`, that the engine's parser panics over.
fn foreign_signature(text: &str, tokens: &[Token]) -> Option<Range<usize>> {
    let written = |index: usize| tokens.get(index).map(|token| &text[token.span.clone()]);
    let mut open = Vec::new();
    for index in 0..tokens.len() {
        match written(index) {
            Some("(") => open.push(index),
            Some(")") => {
                let before = open.pop().and_then(|open| open.checked_sub(1));
                let opener = before.and_then(written);
                if matches!(opener, Some("function" | "λ")) && written(index + 1) == Some("<") {
                    let signature = tokens[index + 1..].iter();
                    let found = signature
                        .take_while(|token| &text[token.span.clone()] != "{")
                        .find(|token| !text[token.span.clone()].is_ascii());
                    if let Some(found) = found {
                        return Some(found.span.clone());
                    }
                }
            }
            _ => {}
        }
    }
    None
}

/// What Step Functions refuses, although it is JSONata.
fn restrict(text: &str, tokens: &[Token], analysis: &Analysis) -> Result<(), SyntaxError> {
    for token in tokens {
        let refused = match &text[token.span.clone()] {
            "$eval" if token.kind == TokenKind::Variable => {
                Some(("the function $eval is not supported", "use $parse to read JSON text"))
            }
            "??" if token.kind == TokenKind::Operator => {
                Some(("the operator ?? is not supported", "write $exists(a) ? a : b"))
            }
            "?:" if token.kind == TokenKind::Operator => {
                Some(("the operator ?: is not supported", "write a ? a : b"))
            }
            _ => None,
        };
        if let Some((message, hint)) = refused {
            return Err(SyntaxError::unsupported(message, token.span.clone()).with_hint(hint));
        }
    }
    match &analysis.context {
        Some(used) => Err(no_context(text, tokens, used)),
        None => Ok(()),
    }
}

/// `$`, `$$` or a field name where nothing is the current value.
fn no_context(text: &str, tokens: &[Token], used: &ContextUse) -> SyntaxError {
    let (message, name) = match used {
        ContextUse::Context => ("$ is not allowed at the top level".to_owned(), "$"),
        ContextUse::Root => ("$$ is not allowed at the top level".to_owned(), "$$"),
        ContextUse::Wildcard => ("a wildcard is not allowed at the top level".to_owned(), "*"),
        ContextUse::Name(name) => {
            (format!("the field name '{name}' is not allowed at the top level"), name.as_str())
        }
    };
    let hint = match used {
        ContextUse::Name(name) if name == "states" => "write $states".to_owned(),
        ContextUse::Name(name) if is_identifier(name) => {
            format!("write $states.input.{name}, or '{name}' in quotes if it is text")
        }
        _ => "begin with $states.input, $states.context or a variable".to_owned(),
    };
    SyntaxError::invalid(message, locate(text, tokens, name)).with_hint(hint)
}

fn is_identifier(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The first token that reads `name` and does not follow a dot.
fn locate(text: &str, tokens: &[Token], name: &str) -> Range<usize> {
    let mut after_dot = false;
    let mut found = None;
    for token in tokens {
        let written = &text[token.span.clone()];
        let bare = written.trim_matches(['`', '"', '\'']);
        let wildcard = name == "*" && written == "**";
        if (bare == name || wildcard) && token.kind != TokenKind::Regex {
            if !after_dot {
                return token.span.clone();
            }
            found.get_or_insert_with(|| token.span.clone());
        }
        after_dot = written == ".";
    }
    found.unwrap_or(0..text.len())
}

fn bad_regex(text: &str, tokens: &[Token], pattern: &str, reason: &str) -> SyntaxError {
    let written = |token: &&Token| {
        token.kind == TokenKind::Regex && text[token.span.clone()].contains(pattern)
    };
    let span = tokens.iter().find(written).map(|token| token.span.clone());
    let reason = reason.lines().last().unwrap_or(reason).trim();
    let reason = reason.strip_prefix("error: ").unwrap_or(reason);
    SyntaxError::unsupported(
        format!("the regular expression cannot be used: {reason}"),
        span.unwrap_or(0..text.len()),
    )
    .with_hint("look-around, backreferences and very long repetitions are not supported")
}

fn syntax_error(text: &str, tokens: &[Token], error: &ParserError) -> SyntaxError {
    let span = culprit(text, tokens, error);
    SyntaxError::invalid(message(error), span)
}

/// The engine's message, its code first where there is one.
fn message(error: &ParserError) -> String {
    match error {
        ParserError::InvalidSyntax(message) => message.clone(),
        ParserError::InvalidNumber(message) if error_code_prefix(message).is_some() => {
            message.clone()
        }
        ParserError::UnclosedComment => "S0106: Comment has no closing tag".to_owned(),
        other => other.to_string(),
    }
}

/// Where parsing fails. The engine does not say, but it says the same thing about any
/// text that ends behind the culprit, and something else, or nothing, before.
fn culprit(text: &str, tokens: &[Token], error: &ParserError) -> Range<usize> {
    let wanted = error.to_string();
    if at_end(error) || tokens.len() > 20_000 {
        return text.len()..text.len();
    }
    let fails = |count: &usize| match parse(&text[..tokens[*count].span.end]) {
        Ok(_) => false,
        Err(other) => other.to_string() == wanted,
    };
    let (mut low, mut high) = (0, tokens.len().saturating_sub(1));
    while low < high {
        let middle = low.midpoint(high);
        if fails(&middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    tokens.get(low).map_or(0..text.len(), |token| token.span.clone())
}

fn at_end(error: &ParserError) -> bool {
    match error {
        ParserError::UnexpectedEnd | ParserError::UnclosedComment => true,
        ParserError::UnexpectedToken(token) => token == "Eof",
        ParserError::Expected { found, .. } => found == "Eof",
        _ => false,
    }
}
