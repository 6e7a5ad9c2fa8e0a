//! YAML 1.2 with places, by the events of `saphyr-parser`.
//!
//! Only what has a JSON value is accepted: one document, string keys, the core schema's plain
//! scalars. Anchors and aliases work; what they expand to is bounded.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser, ScalarStyle, Span as Marks, Tag};
use serde_json::Number;

use super::json::{number, too_deep};
use super::{Content, DEPTH_MAX, DocumentError, Member, Node, Trouble};
use crate::Span;

/// Aliases multiply: this many nodes are a definition of the service's maximal size many times over.
const NODES_MAX: usize = 1_000_000;

/// Reads a text that other readers of YAML accept: the lines of a quoted text may begin anywhere.
pub(super) fn read_template(text: &str) -> Result<Node, DocumentError> {
    let mut text = text.to_owned();
    loop {
        match read(&text, Tags::Functions) {
            Err(error) if error.message == MISPLACED_QUOTED_LINE => {
                text = unbroken(&text, error.span.start).ok_or(error)?;
            }
            Err(error) => {
                let hint = error.hint.clone();
                return Err(DocumentError { hint: nested_tags(&text, &error).or(hint), ..error });
            }
            Ok(node) => return Ok(node),
        }
    }
}

/// Two functions in their short form cannot follow each other.
fn nested_tags(text: &str, error: &DocumentError) -> Option<String> {
    let before = text.get(..error.span.start)?;
    let line = before.rsplit('\n').next()?.trim_end();
    let first = line.rsplit(' ').next()?.strip_prefix('!')?;
    let second = text[error.span.start..].split_whitespace().next()?;
    let second = second.strip_prefix('!')?;
    Some(format!(
        "one short function cannot follow another: write `{}: !{second} …` in place of `!{first} !{second} …`",
        long_name(first)
    ))
}

/// What the scanner says of a quoted text whose lines begin too far to the left.
const MISPLACED_QUOTED_LINE: &str = "invalid indentation in quoted scalar";

/// The quoted text that begins here in one line, which changes no place. Nothing if it is in one line already.
fn unbroken(text: &str, start: usize) -> Option<String> {
    let quote = text.as_bytes().get(start).copied().filter(|byte| b"'\"".contains(byte))?;
    let mut bytes = text.as_bytes().to_vec();
    let (mut at, mut is_changed) = (start + 1, false);
    while bytes.get(at).is_some_and(|byte| *byte != quote) {
        if bytes[at] == b'\\' && quote == b'"' {
            at += 1;
        } else if bytes[at] == b'\n' || bytes[at] == b'\r' {
            bytes[at] = b' ';
            is_changed = true;
        }
        at += 1;
    }
    String::from_utf8(bytes).ok().filter(|_| is_changed)
}

pub(super) fn read(text: &str, tags: Tags) -> Result<Node, DocumentError> {
    let mut reader = Reader {
        events: Parser::new_from_str(text),
        offsets: Offsets::new(text),
        anchors: HashMap::new(),
        nodes: 0,
        tags,
    };
    reader.document()
}

/// What tags of one's own mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tags {
    Refused,
    /// `!Sub x` is `{"Fn::Sub": x}`, as in CloudFormation.
    Functions,
}

struct Reader<'t> {
    events: Parser<'t, saphyr_parser::StrInput<'t>>,
    offsets: Offsets<'t>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    tags: Tags,
}

impl<'t> Reader<'t> {
    fn document(&mut self) -> Result<Node, DocumentError> {
        loop {
            match self.next()? {
                (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
                (Event::StreamEnd | Event::DocumentEnd, span) => {
                    return Err(error(span, "the text is empty"));
                }
                (event, span) => {
                    let node = self.node(event, span, 0)?;
                    self.expect_end()?;
                    return Ok(node);
                }
            }
        }
    }

    fn expect_end(&mut self) -> Result<(), DocumentError> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentStart(_), span) => {
                    return Err(error(span, "a second YAML document follows; a file holds one"));
                }
                _ => {}
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, Span), DocumentError> {
        match self.events.next() {
            Some(Ok((event, marks))) => Ok((event, self.offsets.span(marks))),
            Some(Err(scan)) => {
                let at = self.offsets.byte(scan.marker().index());
                let hint = scan_hint(scan.info());
                Err(DocumentError { hint, ..error(Span::new(at, at), scan.info()) })
            }
            None => Err(error(Span::default(), "the text ends in the middle of a value")),
        }
    }

    fn node(&mut self, event: Event<'t>, span: Span, depth: usize) -> Result<Node, DocumentError> {
        if depth > DEPTH_MAX {
            return Err(too_deep(span));
        }
        self.count(1, span)?;
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let (function, tag) = self.function(tag.as_deref());
                let content = scalar(&text, style, tag, span)?;
                Ok(self.anchored(anchor, called(function, Node { span, content })))
            }
            Event::SequenceStart(anchor, tag) => {
                let (function, tag) = self.function(tag.as_deref());
                refuse_tag(tag, "seq", span)?;
                let (elements, end) = self.sequence(depth)?;
                let span = Span::new(span.start, end.max(span.end));
                let node = Node { span, content: Content::Array(elements) };
                Ok(self.anchored(anchor, called(function, node)))
            }
            Event::MappingStart(anchor, tag) => {
                let (function, tag) = self.function(tag.as_deref());
                refuse_tag(tag, "map", span)?;
                let (members, end) = self.mapping(depth)?;
                let span = Span::new(span.start, end.max(span.end));
                let node = Node { span, content: Content::Object(members) };
                Ok(self.anchored(anchor, called(function, node)))
            }
            Event::Alias(anchor) => self.alias(anchor, span, depth),
            _ => Err(error(span, "a value was expected here")),
        }
    }

    /// The function that a tag calls, where tags may; any other tag as it is.
    fn function<'g>(&self, tag: Option<&'g Tag>) -> (Option<String>, Option<&'g Tag>) {
        match tag {
            Some(tag) if self.tags == Tags::Functions && !tag.is_yaml_core_schema() => {
                (Some(long_name(&tag.suffix)), None)
            }
            tag => (None, tag),
        }
    }

    fn sequence(&mut self, depth: usize) -> Result<(Vec<Node>, usize), DocumentError> {
        let mut elements = Vec::new();
        let mut end = 0;
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok((elements, end)),
                (event, span) => elements.push(self.node(event, span, depth + 1)?),
            }
            end = elements.last().map_or(end, |node| node.span.end);
        }
    }

    fn mapping(&mut self, depth: usize) -> Result<(Vec<Member>, usize), DocumentError> {
        let mut members = Vec::new();
        let mut end = 0;
        loop {
            let (name, name_span) = match self.next()? {
                (Event::MappingEnd, _) => return Ok((members, end)),
                (Event::Scalar(name, _, _, _), span) => (name.into_owned(), span),
                (_, span) => return Err(error(span, "a field name must be a plain string")),
            };
            if name == "<<" {
                let hint = "write the fields out, or name a whole value with `&name` and repeat it with `*name`";
                return Err(DocumentError {
                    hint: Some(hint.to_owned()),
                    ..error(name_span, "merge keys (`<<`) are not part of YAML 1.2")
                });
            }
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            end = value.span.end;
            members.push(Member { name, name_span, value });
        }
    }

    fn anchored(&mut self, anchor: usize, node: Node) -> Node {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        node
    }

    fn alias(&mut self, anchor: usize, span: Span, depth: usize) -> Result<Node, DocumentError> {
        let Some(node) = self.anchors.get(&anchor) else {
            return Err(error(span, "this alias stands inside its own anchor"));
        };
        let (size, height) = measure(node);
        if depth + height > DEPTH_MAX {
            return Err(too_deep(span));
        }
        // Problems inside the copy are shown where the alias is used.
        let copy = moved(node, span);
        self.count(size, span)?;
        Ok(copy)
    }

    fn count(&mut self, nodes: usize, span: Span) -> Result<(), DocumentError> {
        self.nodes += nodes;
        if self.nodes > NODES_MAX {
            return Err(error(span, "the document has too many values"));
        }
        Ok(())
    }
}

/// The long form of a short function name: two have no prefix.
fn long_name(short: &str) -> String {
    match short {
        "Ref" | "Condition" => short.to_owned(),
        _ => format!("Fn::{short}"),
    }
}

fn called(function: Option<String>, value: Node) -> Node {
    let Some(name) = function else { return value };
    let span = value.span;
    Node { span, content: Content::Object(vec![Member { name, name_span: span, value }]) }
}

fn measure(node: &Node) -> (usize, usize) {
    let below = |nodes: &mut dyn Iterator<Item = &Node>| {
        nodes.map(measure).fold((1, 0), |(size, height), (s, h)| (size + s, height.max(h + 1)))
    };
    match &node.content {
        Content::Array(elements) => below(&mut elements.iter()),
        Content::Object(members) => below(&mut members.iter().map(|member| &member.value)),
        _ => (1, 0),
    }
}

fn moved(node: &Node, span: Span) -> Node {
    let content = match &node.content {
        Content::Array(elements) => {
            Content::Array(elements.iter().map(|e| moved(e, span)).collect())
        }
        Content::Object(members) => Content::Object(
            members
                .iter()
                .map(|member| Member {
                    name: member.name.clone(),
                    name_span: span,
                    value: moved(&member.value, span),
                })
                .collect(),
        ),
        other => other.clone(),
    };
    Node { span, content }
}

fn scalar(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    span: Span,
) -> Result<Content, DocumentError> {
    match tag {
        None if style == ScalarStyle::Plain => plain(text, span),
        None => Ok(Content::String(text.to_owned())),
        Some(tag) if tag.is_yaml_core_schema() && tag.suffix == "str" => {
            Ok(Content::String(text.to_owned()))
        }
        Some(tag) if tag.is_yaml_core_schema() => plain(text, span),
        Some(tag) => Err(unknown_tag(tag, span)),
    }
}

/// The core schema of YAML 1.2 (section 10.3.2), less what JSON cannot hold.
fn plain(text: &str, span: Span) -> Result<Content, DocumentError> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Content::Null),
        "true" | "True" | "TRUE" => return Ok(Content::Boolean(true)),
        "false" | "False" | "FALSE" => return Ok(Content::Boolean(false)),
        _ => {}
    }
    if let Some(value) = based_integer(text) {
        return Ok(Content::Number(value));
    }
    if !looks_numeric(text) {
        return Ok(Content::String(text.to_owned()));
    }
    let text = text.strip_prefix('+').unwrap_or(text);
    if let Ok(value) = text.parse::<i64>() {
        return Ok(Content::Number(value.into()));
    }
    match text.parse::<f64>() {
        Ok(value) if Number::from_f64(value).is_some() => {
            Ok(Content::Number(Number::from_f64(value).unwrap_or_else(|| 0.into())))
        }
        _ => number(text, span).map(Content::Number),
    }
}

fn based_integer(text: &str) -> Option<Number> {
    let value = if let Some(digits) = text.strip_prefix("0x") {
        u64::from_str_radix(digits, 16)
    } else if let Some(digits) = text.strip_prefix("0o") {
        u64::from_str_radix(digits, 8)
    } else {
        return None;
    };
    value.ok().map(Number::from)
}

/// `[-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?`
fn looks_numeric(text: &str) -> bool {
    let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    digits(whole)
        && digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|text| {
            let text = text.strip_prefix(['-', '+']).unwrap_or(text);
            !text.is_empty() && digits(text)
        })
}

fn refuse_tag(tag: Option<&Tag>, core: &str, span: Span) -> Result<(), DocumentError> {
    match tag {
        Some(tag) if !(tag.is_yaml_core_schema() && tag.suffix == core) => {
            Err(unknown_tag(tag, span))
        }
        _ => Ok(()),
    }
}

fn unknown_tag(tag: &Tag, span: Span) -> DocumentError {
    DocumentError {
        span,
        message: format!("the tag `{}{}` has no meaning here", tag.handle, tag.suffix),
        hint: Some("template functions such as !Sub must be resolved before".to_owned()),
        trouble: Trouble::Other,
    }
}

/// Most errors of the scanner are a line that begins in the wrong column; between brackets columns play no part.
fn scan_hint(message: &str) -> Option<String> {
    let hint = if message.starts_with("tabs") {
        "indent by spaces"
    } else if message.starts_with("while parsing a flow mapping") {
        "a `{` before this is not closed by a `}`, or a comma between two fields is missing"
    } else if message.starts_with("while parsing a flow sequence") {
        "a `[` before this is not closed by a `]`, or a comma between two values is missing"
    } else if message.contains("mapping values are not")
        || message.contains("did not find expected")
    {
        "look at the indentation: the fields of one object begin in one column"
    } else {
        return None;
    };
    Some(hint.to_owned())
}

fn error(span: Span, message: &str) -> DocumentError {
    DocumentError { span, message: message.to_owned(), hint: None, trouble: Trouble::Other }
}

/// The scanner counts characters, everything else here counts bytes.
struct Offsets<'t> {
    text: &'t str,
    /// Where each block of characters starts; empty if all are ASCII.
    blocks: Vec<usize>,
}

const BLOCK: usize = 64;

impl<'t> Offsets<'t> {
    fn new(text: &'t str) -> Self {
        let blocks = if text.is_ascii() {
            Vec::new()
        } else {
            text.char_indices().step_by(BLOCK).map(|(byte, _)| byte).collect()
        };
        Self { text, blocks }
    }

    fn byte(&self, character: usize) -> usize {
        if self.blocks.is_empty() {
            return character.min(self.text.len());
        }
        let Some(start) = self.blocks.get(character / BLOCK).copied() else {
            return self.text.len();
        };
        let rest = &self.text[start..];
        rest.char_indices().nth(character % BLOCK).map_or(self.text.len(), |(at, _)| start + at)
    }

    fn span(&self, marks: Marks) -> Span {
        Span::new(self.byte(marks.start.index()), self.byte(marks.end.index()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(text: &str) -> Result<Node, DocumentError> {
        super::read(text, Tags::Refused)
    }

    fn check(text: &str, expected: Value) {
        assert_eq!(read(text).expect(text).to_value(), expected, "{text}");
    }

    #[test]
    fn tags_call_functions_where_they_may() {
        let check = |text: &str, expected: Value| {
            let node = super::read(text, Tags::Functions).expect(text);
            assert_eq!(node.to_value(), expected, "{text}");
        };
        check("a: !Ref b", json!({ "a": { "Ref": "b" } }));
        check("!Sub '${x}'", json!({ "Fn::Sub": "${x}" }));
        check("!Join [',', [!Ref a, 1]]", json!({ "Fn::Join": [",", [{ "Ref": "a" }, 1]] }));
        check("!Foo {a: 1}", json!({ "Fn::Foo": { "a": 1 } }));
        check("!!str 1", json!("1"));
    }

    #[test]
    fn quoted_lines_of_a_template_begin_anywhere() {
        let text = "a:\n  b: \"{\n}\"\n  c: 'd\ne'\nf: 1\n";
        assert!(read(text).is_err());
        let node = read_template(text).expect("lenient");
        assert_eq!(node.to_value(), json!({ "a": { "b": "{ }", "c": "d e" }, "f": 1 }));
        let last = &node.as_object().unwrap()[1];
        assert_eq!(&text[last.name_span.range()], "f", "places are the same");
    }

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        check(
            "a: 1\nb: 1.5\nc: true\nd: ~\ne: no\nf: 0x10\ng: 1e3",
            json!({
                "a": 1, "b": 1.5, "c": true, "d": null, "e": "no", "f": 16, "g": 1000.0
            }),
        );
        check(
            "a: \"1\"\nb: '2'\nc: !!str 3\nd: 1.2.3\ne: -\u{41}",
            json!({
                "a": "1", "b": "2", "c": "3", "d": "1.2.3", "e": "-A"
            }),
        );
    }

    #[test]
    fn aliases_are_copies() {
        check("a: &x {n: 1}\nb: *x", json!({"a": {"n": 1}, "b": {"n": 1}}));
    }

    #[test]
    fn aliases_cannot_explode() {
        let mut text = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..9 {
            let list = vec![format!("*a{}", level - 1); 10].join(",");
            text += &format!("a{level}: &a{level} [{list}]\n");
        }
        assert!(read(&text).unwrap_err().message.contains("too many values"));
    }

    #[test]
    fn deep_texts_are_refused() {
        assert!(read(&"[".repeat(100_000)).is_err());
        assert!(read(&format!("{}{}", "[".repeat(10_000), "]".repeat(10_000))).is_err());
    }

    #[test]
    fn what_json_cannot_hold_is_refused() {
        for text in ["? [a]\n: 1", "a: !Sub x", "a: 1\n---\nb: 2", "<<: {a: 1}", "a: *nowhere", ""]
        {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn places_are_bytes() {
        let text = "ü: 1\nkey: välue\n";
        let node = read(text).unwrap();
        let member = &node.as_object().unwrap()[1];
        assert_eq!(&text[member.name_span.range()], "key");
        assert_eq!(&text[member.value.span.range()], "välue");
    }
}
