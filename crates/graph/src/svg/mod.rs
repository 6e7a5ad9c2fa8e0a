//! Writes a picture as SVG that stands alone or inside a page.
//!
//! No scripts, no fonts, no ids and no styles that reach beyond the picture, so any number of
//! them may share a page. A page can restyle everything: colours are custom properties
//! (`--es-…`), and each state is a group of class `state` with the attributes `data-state` (its
//! name) and, in a run, `data-status`.

mod icons;

use std::fmt::Write;

use crate::layout::geometry::{Path, Point, Rect, Step};
use crate::model::{Graph, Kind, Status};
use crate::picture::card::{Card, Frame, ICON_SIZE, SLANT};
use crate::picture::wire::{LABEL_FONT, LABEL_LINE_HEIGHT, Wire};
use crate::picture::{Marker, Scope};
use crate::text::{Line, xml_char};

/// The style that [`inline_svg`] needs.
pub const STYLE: &str = include_str!("style.css");
const MARGIN: f64 = 20.0;
/// Inside a page, which has margins of its own; marks on cards reach this far out.
const INLINE_MARGIN: f64 = 10.0;

/// Draws a machine as an SVG document.
pub fn svg(graph: &Graph) -> String {
    let head = |size: &str| format!("<style>\n{STYLE}</style>\n<rect class=\"paper\" {size}/>\n");
    written(graph, " xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"", MARGIN, head)
}

/// Draws a machine as a part of a page: its style, [`STYLE`], is the page's, and its states can be reached by the
/// keyboard if they have addresses.
pub fn inline_svg(graph: &Graph) -> String {
    written(graph, " role=\"group\"", INLINE_MARGIN, |_| String::new())
}

fn written(graph: &Graph, attributes: &str, margin: f64, head: impl Fn(&str) -> String) -> String {
    let scope = Scope::new(graph, 0);
    let width = number(scope.size.width + 2.0 * margin);
    let height = number(scope.size.height + 2.0 * margin);
    let size = format!("width=\"{width}\" height=\"{height}\"");
    let title = graph.title.as_deref().filter(|title| !title.trim().is_empty());
    let title = escape(title.unwrap_or("State machine"));
    let mut out = format!(
        "<svg{attributes} class=\"everstep-graph\" aria-label=\"{title}\" {size} \
         viewBox=\"0 0 {width} {height}\">\n"
    );
    out.push_str(&head(&size));
    write_scope(&mut out, &scope, Point { x: margin, y: margin });
    out.push_str("</svg>\n");
    out
}

/// Appends formatted text; writing to a string cannot fail.
macro_rules! put {
    ($out:expr, $($format:tt)*) => {
        let _ = write!($out, $($format)*);
    };
}

fn write_scope(out: &mut String, scope: &Scope, origin: Point) {
    put!(out, "<g transform=\"translate({} {})\">\n", number(origin.x), number(origin.y));
    for wire in &scope.wires {
        write_wire(out, wire, &scope.cards);
    }
    for marker in &scope.markers {
        write_marker(out, marker);
    }
    for card in &scope.cards {
        write_card(out, card);
    }
    out.push_str("</g>\n");
}

fn write_card(out: &mut String, card: &Card) {
    let href = card.node.href.as_deref().filter(|href| is_safe(href)).map(escape);
    if let Some(href) = &href {
        put!(out, "<a href=\"{href}\">");
    }
    let kind = card.node.kind.name().to_lowercase();
    let selected = if card.node.is_selected { " data-selected" } else { "" };
    put!(out, "<g class=\"state {kind}\" data-state=\"{}\"{selected}", escape(&card.node.name));
    if let Some(status) = card.node.status {
        put!(out, " data-status=\"{}\"", status.name());
    }
    let (x, y) = (number(card.rect.x), number(card.rect.y));
    put!(out, " transform=\"translate({x} {y})\"><title>{}</title>", escape(&card.title));
    write_box(out, card);
    write_icon(out, card);
    for text in &card.texts {
        write_text(out, text.class, text.at, &text.line);
    }
    for (rect, line) in &card.badges {
        put!(out, "<g class=\"badge\"><rect {} rx=\"8\"/>", attributes(rect));
        write_text(out, "", Point { x: rect.middle().x, y: rect.y + 11.5 }, line);
        out.push_str("</g>");
    }
    if let Some(status) = card.node.status {
        write_mark(out, card, status);
    }
    out.push_str("</g>");
    if href.is_some() {
        out.push_str("</a>");
    }
    // What is inside has addresses of its own.
    if !card.frames.is_empty() {
        put!(out, "<g transform=\"translate({x} {y})\">");
        card.frames.iter().for_each(|frame| write_frame(out, frame));
        out.push_str("</g>");
    }
    out.push('\n');
}

/// How far the second card of a Map shows.
const STACK_OFFSET: f64 = 4.0;

/// The outline, twice: one to be filled like the paper, one to tint it.
fn write_box(out: &mut String, card: &Card) {
    // A Map shows the edge of a second card, inside its own room: there are many of these.
    let is_stack = card.node.kind == Kind::Map;
    let offset = if is_stack { STACK_OFFSET } else { 0.0 };
    let (width, height) = (card.rect.width - offset, card.rect.height - offset);
    let size = Rect { x: 0.0, y: 0.0, width, height };
    if is_stack {
        let behind = Rect { x: offset, y: offset, ..size };
        put!(out, "<rect class=\"box\" {} rx=\"8\"/>", attributes(&behind));
    }
    let shape = match card.node.kind {
        Kind::Choice => {
            let (right, middle) = (number(width - SLANT), number(height / 2.0));
            let (width, height) = (number(width), number(height));
            format!(
                "path d=\"M{SLANT} 0H{right}L{width} {middle} {right} {height}H{SLANT}L0 {middle}z\""
            )
        }
        Kind::Succeed | Kind::Fail => {
            format!("rect {} rx=\"{}\"", attributes(&size), number((height / 2.0).min(22.0)))
        }
        _ => format!("rect {} rx=\"8\"", attributes(&size)),
    };
    put!(out, "<{shape} class=\"box\"/><{shape} class=\"tint\"/>");
}

/// The status as a shape, on the corner of the card: colours alone would not be seen by everybody.
fn write_mark(out: &mut String, card: &Card, status: Status) {
    let (x, path) = (number(card.rect.width - 6.0), icons::mark(status));
    put!(out, "<g class=\"mark\" transform=\"translate({x} 6)\"><circle r=\"8\"/>");
    put!(out, "<path d=\"{path}\"/></g>");
}

fn write_icon(out: &mut String, card: &Card) {
    let (x, y) = (number(card.icon.x), number(card.icon.y));
    let path = icons::path(card.node.kind);
    put!(out, "<g class=\"icon\" transform=\"translate({x} {y})\">");
    put!(out, "<rect width=\"{ICON_SIZE}\" height=\"{ICON_SIZE}\" rx=\"6\"/>");
    put!(out, "<path transform=\"translate(4 4)\" d=\"{path}\"/></g>");
}

fn write_frame(out: &mut String, frame: &Frame) {
    put!(out, "\n<rect class=\"frame\" {} rx=\"6\"/>", attributes(&frame.rect));
    if let Some(line) = frame.title.lines.first() {
        let at = Point { x: frame.rect.x + 12.0, y: frame.rect.y + 18.0 };
        write_text(out, "heading", at, line);
    }
    write_scope(out, &frame.scope, frame.origin);
}

fn write_wire(out: &mut String, wire: &Wire, cards: &[Card]) {
    let class = match () {
        () if wire.is_error() => "wire catch",
        () if wire.is_default() => "wire default",
        () => "wire",
    };
    put!(out, "<g class=\"{class}\"");
    if let Some((from, to)) = wire.ends() {
        let (from, to) = (escape(&cards[from].node.name), escape(&cards[to].node.name));
        put!(out, " data-from=\"{from}\" data-to=\"{to}\"");
    }
    if wire.is_taken() {
        out.push_str(" data-taken");
    }
    out.push('>');
    if !wire.title.is_empty() {
        put!(out, "<title>{}</title>", escape(&wire.title));
    }
    for path in &wire.route.paths {
        put!(out, "<path d=\"{}\"/>", data(path));
    }
    if let Some(head) = &wire.route.head {
        put!(out, "<path class=\"head\" d=\"{}z\"/>", data(head));
    }
    if let Some(rect) = &wire.route.label {
        write_label(out, wire, rect);
    }
    out.push_str("</g>\n");
}

fn write_label(out: &mut String, wire: &Wire, rect: &Rect) {
    let lines = &wire.label.lines;
    let top = rect.middle().y - lines.len() as f64 * LABEL_LINE_HEIGHT / 2.0;
    for (index, line) in lines.iter().enumerate() {
        let inset = (LABEL_LINE_HEIGHT + LABEL_FONT.size * 0.72) / 2.0;
        let y = top + index as f64 * LABEL_LINE_HEIGHT + inset;
        write_text(out, "", Point { x: rect.middle().x, y }, line);
    }
}

fn write_marker(out: &mut String, marker: &Marker) {
    let Rect { height, .. } = marker.rect;
    let middle = marker.rect.middle();
    let (x, y) = (number(middle.x), number(middle.y));
    let kind = if marker.is_start { "start" } else { "end" };
    put!(out, "<g class=\"marker {kind}\">");
    if marker.is_named {
        let word = if marker.is_start { "Start" } else { "End" };
        let radius = number(height / 2.0);
        put!(out, "<rect {} rx=\"{radius}\"/>", attributes(&marker.rect));
        put!(out, "<text x=\"{x}\" y=\"{}\">{word}</text>", number(middle.y + 4.0));
    } else if marker.is_start {
        put!(out, "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"6\"/>");
    } else {
        put!(out, "<circle class=\"ring\" cx=\"{x}\" cy=\"{y}\" r=\"6\"/>");
        put!(out, "<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"3\"/>");
    }
    out.push_str("</g>\n");
}

/// Where the font is unknown the length is pinned, so that the text stays in its box.
fn write_text(out: &mut String, class: &str, at: Point, line: &Line) {
    out.push_str("<text");
    if !class.is_empty() {
        put!(out, " class=\"{class}\"");
    }
    put!(out, " x=\"{}\" y=\"{}\"", number(at.x), number(at.y));
    if line.is_guess() && line.width > 0.0 {
        let width = number(line.width);
        put!(out, " textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\"");
    }
    put!(out, ">{}</text>", escape(&line.text));
}

fn attributes(rect: &Rect) -> String {
    let (x, y) = (number(rect.x), number(rect.y));
    let (width, height) = (number(rect.width), number(rect.height));
    format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"")
}

fn data(path: &Path) -> String {
    let mut data = String::new();
    let pair = |point: &Point| format!("{} {}", number(point.x), number(point.y));
    for step in &path.steps {
        match step {
            Step::Move(to) => data.push_str(&format!("M{}", pair(to))),
            Step::Line(to) => data.push_str(&format!("L{}", pair(to))),
            Step::Curve(a, b, to) => {
                data.push_str(&format!("C{} {} {}", pair(a), pair(b), pair(to)));
            }
        }
    }
    data
}

/// Tenths of a pixel are exact enough, and keep files small.
fn number(value: f64) -> String {
    let tenths = (value * 10.0).round();
    let tenths = if tenths == 0.0 { 0.0 } else { tenths };
    (tenths / 10.0).to_string()
}

/// Escapes text for content and for attributes.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match xml_char(c) {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' => escaped.push_str("&#9;"),
            '\n' => escaped.push_str("&#10;"),
            '\r' => escaped.push_str("&#13;"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether an address cannot run code: it has no scheme, or a web page's.
fn is_safe(href: &str) -> bool {
    let lower = href.to_ascii_lowercase();
    let before_path = lower.split(['/', '?', '#']).next().unwrap_or_default();
    let is_plain = lower.chars().all(|c| !c.is_whitespace() && !c.is_control());
    is_plain && (!before_path.contains(':') || matches!(before_path, "http:" | "https:"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::samples;

    fn check(graph: &Graph, expected: &[&str], absent: &[&str]) {
        let picture = svg(graph);
        for part in expected {
            assert!(picture.contains(part), "{part} is missing in {picture}");
        }
        for part in absent {
            assert!(!picture.contains(part), "{part} should not be in {picture}");
        }
    }

    #[test]
    fn pages_find_states_and_edges_by_attributes() {
        let mut graph = samples::order();
        graph.nodes[0].status = Some(Status::Caught);
        graph.nodes[0].href = Some("#Charge".to_owned());
        check(
            &graph,
            &[
                "<a href=\"#Charge\"><g class=\"state task\" data-state=\"Charge\" data-status=\"caught\"",
                "<g class=\"state choice\" data-state=\"Paid?\" transform",
                "<g class=\"wire catch\" data-from=\"Charge\" data-to=\"Failed\">",
                "<title>CardExpired, States.ALL</title>",
                "<g class=\"wire default\"",
            ],
            &[],
        );
    }

    #[test]
    fn names_are_text_whatever_they_hold() {
        check(
            &samples::named("<script>\"'&\u{1}"),
            &["data-state=\"&lt;script&gt;&quot;&#39;&amp;\u{2401}\""],
            &["<script", "\u{1}"],
        );
    }

    #[test]
    fn addresses_that_run_code_are_left_out() {
        for (href, is_written) in [
            ("/runs/1?state=A#b", true),
            ("https://example.com/a:b", true),
            ("state/a:b", true),
            ("javascript:alert(1)", false),
            ("JavaScript:alert(1)", false),
            (" javascript:alert(1)", false),
            ("java\nscript:alert(1)", false),
            ("data:text/html,x", false),
        ] {
            assert_eq!(is_safe(href), is_written, "{href}");
        }
    }
}
