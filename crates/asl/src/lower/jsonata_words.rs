//! What the JSONata compiler says, in words that people and the service use.

use std::borrow::Cow;

use crate::diagnostic::ServiceCode;
use everstep_expr::{SyntaxError, SyntaxErrorKind};

/// The message with the compiler's names of symbols written as the symbols.
pub(super) fn message(error: &SyntaxError) -> String {
    let said = &error.message;
    if let Some((code, rest)) = said.split_once("The symbol ")
        && let Some((name, tail)) = rest.split_once(' ')
    {
        return format!("{code}The symbol {} {tail}", symbol(name));
    }
    let Some((code, rest)) = said.split_once("Expected ") else { return said.clone() };
    if let Some((expected, found)) = rest.split_once(", got ") {
        return format!("{code}Expected {}, got {}", symbol(expected), symbol(found));
    }
    match rest.split_once(" before end") {
        Some((expected, tail)) => format!("{code}Expected {} before end{tail}", symbol(expected)),
        None => said.clone(),
    }
}

/// The same as the service says it: it shows the words of jsonata-js without their code.
pub(super) fn service(error: &SyntaxError) -> (ServiceCode, String) {
    let said = message(error);
    if let Some(name) = top_level_name(&said) {
        let words = format!("Reference to '{name}' at the top level is not supported.");
        return (ServiceCode::UnsupportedJsonataExpression, words);
    }
    let code = match error.kind {
        SyntaxErrorKind::Invalid => ServiceCode::InvalidJsonataExpression,
        SyntaxErrorKind::Unsupported => ServiceCode::UnsupportedJsonataExpression,
    };
    (code, without_code(&said).to_owned())
}

fn top_level_name(message: &str) -> Option<&str> {
    message.strip_prefix("the field name '")?.strip_suffix("' is not allowed at the top level")
}

/// `S0207: Unexpected end of expression` without the first word.
fn without_code(message: &str) -> &str {
    match message.split_once(": ") {
        Some((code, rest)) if is_code(code) => rest,
        _ => message,
    }
}

fn is_code(text: &str) -> bool {
    let mut characters = text.chars();
    text.len() == 5
        && characters.next().is_some_and(|first| first.is_ascii_uppercase())
        && characters.all(|c| c.is_ascii_digit())
}

/// `RightBracket` is `"]"`, `Identifier("x")` is `"x"`.
fn symbol(name: &str) -> Cow<'_, str> {
    let found = SYMBOLS.iter().find(|(known, _)| *known == name);
    if let Some((_, symbol)) = found {
        return Cow::Owned(format!("\"{symbol}\""));
    }
    let inner = name.split_once('(').and_then(|(_, rest)| rest.strip_suffix(')'));
    match inner.map(|inner| inner.trim_matches('"').trim_end_matches(".0")) {
        Some(inner) => Cow::Owned(format!("\"{inner}\"")),
        None => Cow::Borrowed(name),
    }
}

const SYMBOLS: &[(&str, &str)] = &[
    ("Ampersand", "&"),
    ("And", "and"),
    ("At", "@"),
    ("Caret", "^"),
    ("Colon", ":"),
    ("ColonEqual", ":="),
    ("Comma", ","),
    ("Dot", "."),
    ("DotDot", ".."),
    ("Equal", "="),
    ("False", "false"),
    ("GreaterThan", ">"),
    ("GreaterThanOrEqual", ">="),
    ("Hash", "#"),
    ("In", "in"),
    ("LeftBrace", "{"),
    ("LeftBracket", "["),
    ("LeftParen", "("),
    ("LessThan", "<"),
    ("LessThanOrEqual", "<="),
    ("Minus", "-"),
    ("NotEqual", "!="),
    ("Null", "null"),
    ("Or", "or"),
    ("Percent", "%"),
    ("Pipe", "|"),
    ("Plus", "+"),
    ("Question", "?"),
    ("RightBrace", "}"),
    ("RightBracket", "]"),
    ("RightParen", ")"),
    ("Semicolon", ";"),
    ("Slash", "/"),
    ("Star", "*"),
    ("StarStar", "**"),
    ("TildeArrow", "~>"),
    ("True", "true"),
];

#[cfg(test)]
mod tests {
    use everstep_expr::jsonata::Expression;

    use super::*;

    fn check(text: &str, expected: &str) {
        let error = Expression::parse(text).expect_err(text);
        assert_eq!(service(&error).1, expected, "{text}");
    }

    #[test]
    fn symbols_are_shown_as_written() {
        check("[1,2)", "Expected \"]\", got \")\"");
        check("(1 2)", "Expected \")\", got \"2\"");
        check("$f(1", "Expected \")\" before end of expression");
        check("{\"a\":}", "The symbol \"}\" cannot be used as a unary operator");
        check("1 +", "Unexpected end of expression");
        check("total", "Reference to 'total' at the top level is not supported.");
    }
}
