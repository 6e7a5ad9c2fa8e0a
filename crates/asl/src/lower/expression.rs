//! Expressions in fields: syntax errors become diagnostics at their place.

use everstep_expr::path::{Path, ReferencePath};
use everstep_expr::template::{self, TemplateSyntaxErrorKind};
use everstep_expr::timestamp::{self, Timestamp};
use everstep_expr::{SyntaxError, jsonata};
use everstep_source::document::{Content, Node};
use everstep_source::{Diagnostic, Place, Span, nearest};

use super::jsonata_words;
use super::reader::Field;
use super::unevaluated;
use crate::diagnostic::{InServiceWords as _, ServiceCode};
use crate::model::{OptionalPath, Payload, QueryLanguage, ResultPath};
use crate::rule::Rule;

/// A field that holds a path.
pub(super) fn path(field: &Field<'_>) -> Option<Path> {
    let text = field.string()?;
    Path::parse(text).map_err(|error| report(field, Rule::InvalidPath, &error)).ok()
}

/// `Variable` of a choice rule, and what it is compared with. The specification asks for a Path,
/// the service speaks of a Reference Path.
pub(super) fn compared_path(field: &Field<'_>) -> Option<Path> {
    let text = field.string()?;
    let parsed = Path::parse(text);
    parsed
        .map_err(|error| {
            field
                .cx
                .report(syntax(field, Rule::InvalidPath, &error).service(not_a_reference(text)));
        })
        .ok()
}

/// A field that holds a Reference Path.
pub(super) fn reference_path(field: &Field<'_>) -> Option<ReferencePath> {
    let text = field.string()?;
    ReferencePath::parse(text)
        .map_err(|error| report(field, Rule::InvalidReferencePath, &error))
        .ok()
}

/// A field that holds a path, or an intrinsic function that returns a string.
pub(super) fn text_expression(field: &Field<'_>) -> Option<template::Expression> {
    let text = field.string()?;
    let parsed = template::Expression::parse(text);
    let expression = parsed.map_err(|error| report(field, rule_for(text), &error)).ok()?;
    if let Some(misfit) = expression.misfit() {
        report(field, Rule::InvalidIntrinsic, misfit);
    }
    if let template::Expression::Call(call) = &expression
        && !call.returns_text()
    {
        let error = SyntaxError::invalid("this function does not return a string", 0..text.len());
        report(field, Rule::InvalidIntrinsic, &error.with_hint(TEXT_FUNCTIONS));
    }
    Some(expression)
}

/// As the guide lists them.
const TEXT_FUNCTIONS: &str = "these can stand here: States.Format, States.JsonToString, States.ArrayGetItem, \
                              States.Base64Encode, States.Base64Decode, States.Hash and States.UUID";

fn rule_for(text: &str) -> Rule {
    if text.starts_with('$') { Rule::InvalidPath } else { Rule::InvalidIntrinsic }
}

/// A field that holds a moment.
pub(super) fn timestamp(field: &Field<'_>) -> Option<Timestamp> {
    let text = field.string()?;
    timestamp::parse(text)
        .map_err(|error| {
            field.cx.report(
                field
                    .report(Rule::InvalidTimestamp, format!("`{text}` is not a timestamp: {error}"))
                    .service("String does not match RFC3339 timestamp"),
            );
        })
        .ok()
}

/// `InputPath`, `OutputPath`.
pub(super) fn optional_path(field: Option<Field<'_>>) -> OptionalPath {
    let Some(field) = field else {
        return OptionalPath::Whole;
    };
    if field.is_null() {
        return OptionalPath::Discard;
    }
    match path(&field) {
        Some(path) if path.as_str() != "$" => OptionalPath::Path(path),
        _ => OptionalPath::Whole,
    }
}

/// `ResultPath`, of a state or a catcher.
pub(super) fn result_path(field: Option<Field<'_>>) -> ResultPath {
    let Some(field) = field else {
        return ResultPath::Replace;
    };
    if field.is_null() {
        return ResultPath::Discard;
    }
    let Some(path) = reference_path(&field) else {
        return ResultPath::Replace;
    };
    if let Err(error) = path.check_insert() {
        field.cx.report(
            field
                .report(Rule::ResultPathRoot, error.message)
                .hint_if(error.hint)
                .service("Value is not a Reference Path"),
        );
    }
    if path.as_str() == "$" { ResultPath::Replace } else { ResultPath::Insert(path) }
}

fn report(field: &Field<'_>, rule: Rule, error: &SyntaxError) {
    let words = match rule {
        Rule::InvalidReferencePath => not_a_reference(field.node.as_str().unwrap_or_default()),
        _ => "Value must be a valid JSONPath.",
    };
    field.cx.report(syntax(field, rule, error).service(words));
}

fn syntax(field: &Field<'_>, rule: Rule, error: &SyntaxError) -> Diagnostic {
    let span = field.cx.inside(field.node, error.span.clone());
    Diagnostic::new(rule, span, field.at.place(), error.message.clone()).hint_if(error.hint.clone())
}

fn not_a_reference(text: &str) -> &'static str {
    if text.starts_with('$') {
        "Value is not a Reference Path"
    } else {
        "Value is not a Reference Path: Reference path didn't start with '$'"
    }
}

const DELIMITED: &str = "JSONata string must start with {% and end with %}";

/// Reports a text with only one of the delimiters: it would be taken as it stands.
pub(super) fn is_torn(field: &Field<'_>) -> bool {
    report_torn(field, field.node, &field.at.place())
}

fn report_torn(field: &Field<'_>, node: &Node, place: &Place) -> bool {
    let Some(text) = node.as_str().filter(|text| torn(text)) else { return false };
    let (message, hint) = if text.starts_with(OPENING) {
        (
            "this expression is opened by `{%` but not closed",
            "end the text with `%}`, with nothing behind it",
        )
    } else {
        (
            "this expression is closed by `%}` but not opened",
            "begin the text with `{%`, with nothing before it",
        )
    };
    field.cx.report(
        Diagnostic::new(Rule::JsonataExpected, node.span, place.clone(), message)
            .hint(hint)
            .service(DELIMITED),
    );
    true
}

fn torn(text: &str) -> bool {
    (text.starts_with(OPENING) || text.ends_with(CLOSING)) && jsonata::delimited(text).is_none()
}

/// Whether any text inside has only one of the delimiters.
fn has_torn(node: &Node) -> bool {
    match &node.content {
        Content::String(text) => torn(text),
        Content::Array(elements) => elements.iter().any(has_torn),
        Content::Object(members) => members.iter().any(|member| has_torn(&member.value)),
        _ => false,
    }
}

/// Every text inside a value, with its place.
fn each_text<'n>(node: &'n Node, place: &Place, visit: &mut dyn FnMut(&'n Node, &Place)) {
    match &node.content {
        Content::String(_) => visit(node, place),
        Content::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                each_text(element, &place.index(index), visit);
            }
        }
        Content::Object(members) => {
            for member in members {
                each_text(&member.value, &place.field(&member.name), visit);
            }
        }
        _ => {}
    }
}

const OPENING: &str = "{%";
const CLOSING: &str = "%}";

/// The text of a `{% … %}` expression, if it is one.
pub(super) fn jsonata(field: &Field<'_>) -> Option<jsonata::Expression> {
    let text = field.node.as_str()?;
    let Some(inner) = jsonata::delimited(text) else {
        field.cx.report(
            field
                .report(
                    Rule::JsonataExpected,
                    format!("`{}` must be a JSONata expression", field.name),
                )
                .hint("write it between `{%` and `%}`, with nothing before or behind")
                .service(DELIMITED),
        );
        return None;
    };
    jsonata::Expression::parse(inner)
        .map_err(|error| {
            let (start, end) = (error.span.start + OPENING.len(), error.span.end + OPENING.len());
            let span = field.cx.inside(field.node, start..end);
            field.cx.report(invalid_jsonata(span, field.at.place(), &error));
        })
        .inspect(|expression| {
            check_names(field, std::slice::from_ref(expression), Available::Nothing);
        })
        .ok()
}

fn invalid_jsonata(span: Span, place: Place, error: &SyntaxError) -> Diagnostic {
    let (code, words) = jsonata_words::service(error);
    Diagnostic::new(Rule::InvalidJsonata, span, place, jsonata_words::message(error))
        .hint_if(error.hint.clone())
        .service(words)
        .service_code(code)
}

/// JSON with JSONata expressions in it, which see `available` of `$states`.
pub(super) fn jsonata_template_with(
    field: &Field<'_>,
    available: Available,
) -> Option<jsonata::Template> {
    if has_torn(field.node) {
        each_text(field.node, &field.at.place(), &mut |node, place| {
            report_torn(field, node, place);
        });
    }
    let template = jsonata_template(field)?;
    let mut expressions = Vec::new();
    template.expressions(&mut |expression| expressions.push(expression.clone()));
    check_names(field, &expressions, available);
    Some(template)
}

/// JSON with JSONata expressions in it.
fn jsonata_template(field: &Field<'_>) -> Option<jsonata::Template> {
    jsonata::Template::parse(&field.node.to_value())
        .map_err(|errors| {
            for error in errors {
                let span = part(field, &error.pointer).map_or(field.node.span, |node| {
                    field.cx.inside(node, error.error.span.clone())
                });
                let place = place_inside(field, &error.pointer).0;
                field.cx.report(invalid_jsonata(span, place, &error.error));
            }
        })
        .ok()
}

/// Which parts of `$states` exist at a place, besides `input` and `context`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Available {
    Nothing,
    /// After the work of a Task, Parallel or Map.
    Result,
    /// In a catcher.
    ErrorOutput,
}

/// Reports what expressions name and does not exist at this place.
fn check_names(field: &Field<'_>, found: &[jsonata::Expression], available: Available) {
    check_states(field, found, available);
    check_functions(field, found);
}

/// The service accepts a call of an unknown function, and fails when it is evaluated.
fn check_functions(field: &Field<'_>, found: &[jsonata::Expression]) {
    let mut unknown: Vec<String> = Vec::new();
    for expression in found {
        expression.unknown_functions(&mut |name| {
            if !unknown.iter().any(|known| known == name) {
                unknown.push(name.to_owned());
            }
        });
    }
    for name in unknown {
        let (span, place) = first_use(field, &format!("${name}"));
        let known = jsonata::function_names().iter().copied();
        let near = nearest(&name, known).map(|near| format!("did you mean `${near}`?"));
        let own = || format!("define it first: (${name} := function($x) {{ … }}; ${name}(…))");
        field.cx.report(
            Diagnostic::new(
                Rule::UnknownFunction,
                span,
                place,
                format!("there is no function `${name}`: this call fails when it is evaluated"),
            )
            .hint(near.unwrap_or_else(own)),
        );
    }
}

/// Reports parts of `$states` that do not exist at this place.
fn check_states(field: &Field<'_>, found: &[jsonata::Expression], available: Available) {
    let mut unknown = Vec::new();
    for expression in found {
        expression.states_fields(&mut |name| {
            let exists = match name {
                "input" | "context" => true,
                "result" => available == Available::Result,
                "errorOutput" => available == Available::ErrorOutput,
                _ => false,
            };
            if !exists && !unknown.iter().any(|known| known == name) {
                unknown.push(name.to_owned());
            }
        });
    }
    for name in unknown {
        let hint = match &*name {
            "result" => {
                "there is a result only in Output and Assign of Task, Parallel and Map states"
            }
            "errorOutput" => "there is an error only in Output and Assign of a catcher",
            _ => "it has input, context, and where there is one, result or errorOutput",
        };
        let (span, place) = first_use(field, &format!("$states.{name}"));
        field.cx.report(
            Diagnostic::new(
                Rule::UnavailableStatesField,
                span,
                place,
                format!("`$states.{name}` does not exist here"),
            )
            .hint(hint)
            .service(format!("Field '$states.{name}' does not exist."))
            .service_code(ServiceCode::UnsupportedJsonataExpression),
        );
    }
}

/// Where the words stand first inside the field's value; all of it if they are written otherwise.
fn first_use(field: &Field<'_>, words: &str) -> (Span, Place) {
    let mut found = None;
    each_text(field.node, &field.at.place(), &mut |node, place| {
        let at = node.as_str().and_then(|text| text.find(words));
        if let (None, Some(at)) = (&found, at) {
            found = Some((field.cx.inside(node, at..at + words.len()), place.clone()));
        }
    });
    found.unwrap_or_else(|| (field.node.span, field.at.place()))
}

/// A payload template of JSONPath expressions.
pub(super) fn path_template(field: &Field<'_>) -> Option<template::Template> {
    unevaluated::check_template(field);
    template::Template::parse(&field.node.to_value())
        .map_err(|errors| {
            for error in errors {
                report_template(field, &error);
            }
        })
        .inspect(|template| {
            template.misfits(&mut |pointer, misfit| {
                let kind = TemplateSyntaxErrorKind::Expression(misfit.clone());
                report_template(
                    field,
                    &template::TemplateSyntaxError { pointer: pointer.to_owned(), kind },
                );
            });
        })
        .ok()
}

fn report_template(field: &Field<'_>, error: &template::TemplateSyntaxError) {
    let node = part(field, &error.pointer).unwrap_or(field.node);
    let (place, around, name) = place_inside(field, &error.pointer);

    let diagnostic = match &error.kind {
        TemplateSyntaxErrorKind::NotAString => Diagnostic::new(
            Rule::InvalidTemplate,
            node.span,
            place,
            format!(
                "the value of `{name}` must be a path or an intrinsic function, but is {}",
                node.type_name()
            ),
        )
        .hint("drop the `.$` if the value is meant as it stands"),
        TemplateSyntaxErrorKind::Expression(error) => {
            let span = field.cx.inside(node, error.span.clone());
            let text = node.as_str().unwrap_or_default();
            let diagnostic = Diagnostic::new(rule_for(text), span, place, error.message.clone())
                .hint_if(error.hint.clone());
            if text.contains(['$', '(']) {
                diagnostic
            } else {
                diagnostic.hint(format!(
                    "a path begins with `$`: `$.{text}`; a text needs no `.$` in its name"
                ))
            }
        }
        TemplateSyntaxErrorKind::TooDeep => {
            Diagnostic::new(Rule::InvalidTemplate, node.span, place, error.kind.to_string())
        }
        TemplateSyntaxErrorKind::Duplicate { name } => {
            let span = field.node.at(&error.pointer).and_then(|place| place.name_span);
            Diagnostic::new(
                Rule::DuplicateTemplateName,
                span.unwrap_or(node.span),
                place,
                format!("there are two fields `{name}` once `.$` is stripped"),
            )
        }
    };
    field.cx.report(
        diagnostic
            .service(format!(
                "The value for the field '{name}' must be a valid JSONPath or a valid intrinsic function call"
            ))
            .service_location(Some(around.service_location())),
    );
}

/// The place a JSON pointer below `field` names, the place around it, and the last name.
fn place_inside(field: &Field<'_>, pointer: &str) -> (Place, Place, String) {
    let (mut place, mut around) = (field.at.place(), Place::root());
    let (mut node, mut last) = (Some(field.node), field.name.clone().into_owned());
    for segment in pointer.split('/').skip(1) {
        last = segment.replace("~1", "/").replace("~0", "~");
        around = place;
        place = match (node.and_then(Node::as_array), last.parse()) {
            (Some(_), Ok(index)) => around.index(index),
            _ => around.field(&last),
        };
        node = node.and_then(|node| node.at(&format!("/{segment}"))).map(|found| found.node);
    }
    (place, around, last)
}

fn part<'a>(field: &Field<'a>, pointer: &str) -> Option<&'a Node> {
    field.node.at(pointer).map(|place| place.node)
}

/// Either, by query language.
pub(super) fn payload(field: &Field<'_>, language: QueryLanguage) -> Option<Payload> {
    match language {
        QueryLanguage::JsonPath => path_template(field).map(Payload::JsonPath),
        QueryLanguage::Jsonata => {
            jsonata_template_with(field, Available::Nothing).map(Payload::Jsonata)
        }
    }
}
