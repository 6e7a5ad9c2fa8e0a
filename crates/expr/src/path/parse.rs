//! From text to steps.

use super::Root;
use super::filter;
use super::function::{Argument, Function, Name};
use super::literal;
use super::token::{Steps, Token};
use crate::SyntaxError;

/// More steps than any JSON text that can be read has levels.
const STEPS_MAX: usize = 128;
/// Filters in filters, parentheses in parentheses.
const DEPTH_MAX: usize = 32;

/// A path as it stands in a definition.
pub(super) fn path(text: &str) -> Result<(Root, Steps), SyntaxError> {
    // Jayway drops blanks at the end, though not at the beginning.
    let mut parser = Parser::new(text.trim_end_matches(' '));
    let root = parser.root()?;
    let tokens = parser.steps(Place::Whole)?;
    Ok((root, Steps::new(turn_scan_inside(tokens))))
}

/// `$..price.sum()` means `$.sum($..price)` in Jayway, so that a function sees all that a scan
/// from the root finds.
fn turn_scan_inside(mut tokens: Vec<Token>) -> Vec<Token> {
    if !matches!(tokens.first(), Some(Token::Scan)) {
        return tokens;
    }
    match tokens.pop() {
        Some(Token::Function(mut function)) => {
            function.arguments.push(Argument::Steps(Steps::new(tokens)));
            vec![Token::Function(function)]
        }
        Some(last) => {
            tokens.push(last);
            tokens
        }
        None => tokens,
    }
}

/// Where a path stands, and so where a name in it ends.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Place {
    /// Alone.
    Whole,
    /// Beside an operator, or as the argument of a function.
    Inside,
}

impl Place {
    fn ends_name(self, byte: u8) -> bool {
        match self {
            Self::Whole => matches!(byte, b'.' | b'[' | b'(' | b' '),
            Self::Inside => matches!(
                byte,
                b'.' | b'['
                    | b'('
                    | b')'
                    | b']'
                    | b','
                    | b' '
                    | b'<'
                    | b'>'
                    | b'='
                    | b'~'
                    | b'!'
                    | b'&'
                    | b'|'
            ),
        }
    }
}

/// A place in the text. All that gives structure is ASCII, so it moves by bytes.
pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    depth: usize,
}

impl<'t> Parser<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    pub(super) fn blanks(&mut self) {
        while self.eat(b' ') {}
    }

    /// Advances while bytes satisfy the test, and returns what it passed.
    pub(super) fn take_while(&mut self, test: impl Fn(u8) -> bool) -> &'t str {
        let from = self.at;
        while self.peek().is_some_and(&test) {
            self.at += 1;
        }
        &self.text[from..self.at]
    }

    /// One level down. The way up is `self.depth -= 1`; after an error the depth does not matter.
    pub(super) fn descend(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.invalid(format!("nested more than {DEPTH_MAX} levels deep")));
        }
        Ok(())
    }

    pub(super) fn ascend(&mut self) {
        self.depth -= 1;
    }

    /// An error about the character here.
    pub(super) fn invalid(&self, message: impl Into<String>) -> SyntaxError {
        let len = self.rest().chars().next().map_or(0, char::len_utf8);
        SyntaxError::invalid(message, self.at..self.at + len)
    }

    pub(super) fn unsupported(&self, message: impl Into<String>, from: usize) -> SyntaxError {
        SyntaxError::unsupported(message, from..self.at.max(from))
    }

    pub(super) fn root(&mut self) -> Result<Root, SyntaxError> {
        if !self.eat(b'$') {
            return Err(not_a_path(self.text));
        }
        if self.eat(b'$') {
            return Ok(Root::Context);
        }
        let rest = self.rest();
        let name = &rest[..rest.len() - rest.trim_start_matches(is_name_character).len()];
        self.at += name.len();
        Ok(match name {
            "" => Root::Input,
            name => Root::Variable(name.to_owned()),
        })
    }

    pub(super) fn steps(&mut self, place: Place) -> Result<Vec<Token>, SyntaxError> {
        let mut tokens = Vec::new();
        loop {
            let from = self.at;
            match self.peek() {
                Some(b'.') => self.dot(place, &mut tokens)?,
                Some(b'[') => tokens.push(self.bracket()?),
                None => break,
                Some(_) if place == Place::Inside => break,
                Some(_) => return Err(self.stray(&tokens)),
            }
            check(&tokens, from..self.at)?;
        }
        Ok(tokens)
    }

    fn stray(&self, tokens: &[Token]) -> SyntaxError {
        let found = self.rest().chars().next().unwrap_or_default();
        let message = format!("expected `.` or `[`, found `{found}`");
        if found == ' ' {
            let hint = "a name with blanks is written in brackets: $['my name']";
            return self.invalid(message).with_hint(hint);
        }
        if tokens.is_empty() {
            return self.invalid(message);
        }
        SyntaxError::unsupported(message, self.at..self.at + found.len_utf8())
            .with_hint("put a `.` between two steps")
    }

    fn dot(&mut self, place: Place, tokens: &mut Vec<Token>) -> Result<(), SyntaxError> {
        self.at += 1;
        if self.eat(b'.') {
            tokens.push(Token::Scan);
        }
        tokens.push(match self.peek() {
            None => return Err(self.invalid("a path must not end with `.`")),
            Some(b'.') => return Err(self.invalid("expected a name, found `.`")),
            Some(b'[') => self.bracket()?,
            Some(b'*') => {
                self.at += 1;
                Token::Wildcard
            }
            Some(_) => self.name(place)?,
        });
        Ok(())
    }

    fn name(&mut self, place: Place) -> Result<Token, SyntaxError> {
        let from = self.at;
        let name = self.take_while(|byte| !place.ends_name(byte));
        if name.is_empty() || (place == Place::Whole && self.peek() == Some(b' ')) {
            let hint = "a name with blanks is written in brackets: ['my name']";
            return Err(self.invalid("expected a name").with_hint(hint));
        }
        if self.peek() == Some(b'(') {
            return Ok(Token::Function(self.function(name, from)?.into()));
        }
        Ok(Token::Field(name.into()))
    }

    fn function(&mut self, name: &str, from: usize) -> Result<Function, SyntaxError> {
        let Some(name) = Name::find(name) else {
            let message = format!("unknown function `{name}()`");
            return Err(self.unsupported(message, from).with_hint(Name::HINT));
        };
        self.at += 1;
        self.descend()?;
        let arguments = self.arguments()?;
        self.ascend();
        let function = Function { name, arguments };
        function.check(from..self.at)?;
        Ok(function)
    }

    fn arguments(&mut self) -> Result<Vec<Argument>, SyntaxError> {
        let mut arguments = Vec::new();
        self.blanks();
        if self.eat(b')') {
            return Ok(arguments);
        }
        loop {
            self.blanks();
            arguments.push(self.argument()?);
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b')') => break,
                _ => return Err(self.invalid("expected `,` or `)` after an argument")),
            }
        }
        self.at += 1;
        Ok(arguments)
    }

    /// Jayway passes over arguments it cannot read; here they are refused.
    fn argument(&mut self) -> Result<Argument, SyntaxError> {
        match self.peek() {
            Some(b'$') => {
                self.at += 1;
                Ok(Argument::Steps(Steps::new(self.steps(Place::Inside)?)))
            }
            Some(b'"' | b'-' | b'0'..=b'9' | b'{') => Ok(Argument::Value(literal::json(self)?)),
            _ => Err(SyntaxError::unsupported(
                "an argument is a path, a number, an object or a string in double quotes",
                self.at..self.at + self.rest().chars().next().map_or(0, char::len_utf8),
            )),
        }
    }

    fn bracket(&mut self) -> Result<Token, SyntaxError> {
        let from = self.at;
        self.at += 1;
        self.blanks();
        match self.peek() {
            Some(b'\'' | b'"') => self.names(),
            Some(b'0'..=b'9' | b'-' | b':') => self.indexes(from),
            Some(b'*') => {
                self.at += 1;
                self.close(Token::Wildcard)
            }
            Some(b'?') => {
                self.descend()?;
                let filter = filter::parse(self)?;
                self.ascend();
                self.close(Token::Filter(filter.into()))
            }
            Some(b'(') => Err(self
                .invalid("scripts in brackets are not part of paths")
                .with_hint("the last item is [-1]")),
            _ => Err(self.invalid("expected an index, a name in quotes, `*` or `?` after `[`")),
        }
    }

    fn close(&mut self, token: Token) -> Result<Token, SyntaxError> {
        self.blanks();
        if self.eat(b']') {
            return Ok(token);
        }
        Err(self.invalid("expected `]`"))
    }

    fn names(&mut self) -> Result<Token, SyntaxError> {
        let quote = self.peek().unwrap_or_default();
        let (first, raw) = literal::quoted_as_written(self)?;
        let mut names: Vec<Box<str>> = vec![first.as_str().into()];
        loop {
            self.blanks();
            if !self.eat(b',') {
                break;
            }
            self.blanks();
            if self.peek() != Some(quote) {
                return Err(self.invalid("expected another name in the same quotes"));
            }
            names.push(literal::quoted(self)?.into());
        }
        let token = match names.len() {
            1 => Token::quoted(first, raw),
            _ => Token::Fields(names),
        };
        self.close(token)
    }

    fn indexes(&mut self, from: usize) -> Result<Token, SyntaxError> {
        let inner = self.take_while(|byte| byte != b']').trim_end_matches(' ');
        if !self.eat(b']') {
            return Err(self.invalid("expected `]`"));
        }
        let span = from..self.at;
        if inner.contains(':') {
            return slice(inner, span);
        }
        let parts = inner.trim_end_matches(',').split(',');
        let indexes: Option<Vec<i32>> = parts.map(|part| part.trim().parse().ok()).collect();
        match indexes.as_deref() {
            None => Err(SyntaxError::invalid("not an index", span)
                .with_hint("write [0], [-1], [0,2], [1:3] or ['name']")),
            Some([index]) => Ok(Token::Index(*index)),
            Some(indexes) => Ok(Token::Indexes(indexes.to_vec())),
        }
    }
}

fn slice(inner: &str, span: std::ops::Range<usize>) -> Result<Token, SyntaxError> {
    let bound = |text: &str| match text {
        "" => Some(None),
        text => text.parse::<i32>().ok().map(Some),
    };
    let mut parts = inner.split(':');
    let mut next = || bound(parts.next().unwrap_or_default());
    let (Some(from), Some(to), Some(step)) = (next(), next(), next()) else {
        return Err(SyntaxError::invalid("not a slice", span).with_hint("write [1:3]"));
    };
    if from.is_none() && to.is_none() {
        return Err(SyntaxError::invalid("a slice needs a bound", span)
            .with_hint("write [*] for all items"));
    }
    if step.is_some_and(|step| step != 1) {
        return Err(SyntaxError::unsupported("a slice has no step", span)
            .with_hint("Jayway reads [0:4:2] as [0:4]"));
    }
    Ok(Token::Slice(from, to))
}

/// What is known to be wrong about the steps so far.
pub(super) fn check(tokens: &[Token], span: std::ops::Range<usize>) -> Result<(), SyntaxError> {
    if tokens.len() > STEPS_MAX {
        let message = format!("more than {STEPS_MAX} steps");
        return Err(SyntaxError::invalid(message, span));
    }
    match tokens {
        [.., Token::Scan, Token::Function(_)] => {
            Err(SyntaxError::unsupported("a function cannot follow `..` at once", span))
        }
        [.., Token::Function(_), _] => {
            Err(SyntaxError::unsupported("a function must be the last step", span))
        }
        [.., Token::Scan, Token::Index(_) | Token::Indexes(_) | Token::Slice(..), _] => {
            Err(SyntaxError::unsupported("nothing can follow `..` and an index", span)
                .with_hint("Jayway passes over the index there; name the array: $..items[0].x"))
        }
        _ => Ok(()),
    }
}

fn not_a_path(text: &str) -> SyntaxError {
    let len = text.chars().next().map_or(0, char::len_utf8);
    SyntaxError::invalid("a path begins with `$`", 0..len)
        .with_hint("`$` is the input, `$$` the context object, `$name` a variable")
}

/// Characters of a variable's name.
pub(super) fn is_name_character(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
