//! Problems for people, with the lines they stand in.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet, Title};
use everstep_source::{Diagnostic, Severity, Source, Span};

use super::Checked;
use crate::output::Stream;

/// Longer lines are not shown: a definition may be one line of a megabyte, with thousands of
/// problems in it.
const LINE_BYTES_MAX: usize = 4096;
const NEAR_BYTES_MAX: usize = 60;

/// Every problem of one text.
pub(crate) fn problems(file: &Checked, stream: Stream) -> String {
    let renderer = if stream.has_colour() { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.term_width(stream.width());
    file.diagnostics
        .iter()
        .map(|found| renderer.render(&[message(&file.source, found)]) + "\n\n")
        .collect()
}

fn message<'a>(source: &'a Source, found: &'a Diagnostic) -> Group<'a> {
    let level = match found.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let title = level.primary_title(found.message.as_str()).id(found.code);
    let help = found.hint.as_deref().map(|hint| Level::HELP.message(hint));
    with_source(title, source, found.span).elements(help)
}

fn with_source<'a>(title: Title<'a>, source: &'a Source, span: Span) -> Group<'a> {
    let position = source.position(span.start);
    let line = line(source.text(), span.start);
    let excerpt = &source.text()[line.clone()];
    if !excerpt.trim().is_empty() && excerpt.len() <= LINE_BYTES_MAX {
        let start = span.start - line.start;
        let end = span.end.min(line.end).saturating_sub(line.start).max(start);
        let annotation = AnnotationKind::Primary.span(start..end);
        let snippet = Snippet::source(excerpt).path(source.name()).line_start(position.line);
        return title.element(snippet.annotation(annotation));
    }
    let origin = Origin::path(source.name()).line(position.line).char_column(position.column);
    let near = source.text()[near(source.text(), span, &line)].trim();
    let note = (!near.is_empty()).then(|| Level::NOTE.message(format!("it begins with `{near}`")));
    title.element(origin).elements(note)
}

/// The line that holds a byte.
fn line(text: &str, at: usize) -> Range<usize> {
    let at = text.floor_char_boundary(at);
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    let end = text[at..].find('\n').map_or(text.len(), |length| at + length);
    start..end
}

/// The first characters of a span in a line that is too long to show.
fn near(text: &str, span: Span, line: &Range<usize>) -> Range<usize> {
    let start = text.floor_char_boundary(span.start);
    let end = span.end.min(line.end).min(start + NEAR_BYTES_MAX);
    start..text.floor_char_boundary(end).max(start)
}
