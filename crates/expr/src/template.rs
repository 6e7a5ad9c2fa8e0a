//! Payload templates: JSON in which fields named `….$` hold expressions.

use std::borrow::Cow;
use std::fmt;

use serde_json::{Map, Value};

use crate::intrinsic::Call;
use crate::path::{Path, Root};
use crate::size::Allowance;
use crate::{EvalError, Scope, SyntaxError};

/// Levels a template may have.
const DEPTH_MAX: usize = 128;

/// What the value of a `….$` field can be.
#[derive(Debug, Clone)]
pub enum Expression {
    Path(Path),
    Call(Call),
}

impl Expression {
    /// A text that begins with `$` is a path, any other an intrinsic function.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        if text.starts_with('$') {
            Path::parse(text).map(Self::Path)
        } else {
            Call::parse(text).map(Self::Call)
        }
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Path(path) => path.as_str(),
            Self::Call(call) => call.as_str(),
        }
    }

    /// The value, borrowed from the scope wherever it stands there as it is.
    pub fn evaluate<'a>(&self, scope: &Scope<'a>) -> Result<Cow<'a, Value>, EvalError> {
        match self {
            Self::Path(path) => match path.evaluate(scope) {
                // The service reads a slice or wildcard over what is not there as no items.
                Err(EvalError::Path { .. }) if selects_items(path) => {
                    Ok(Cow::Owned(Value::Array(Vec::new())))
                }
                found => found,
            },
            Self::Call(call) => call.evaluate(scope).map(Cow::Owned),
        }
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, into: &mut dyn FnMut(&str)) {
        match self {
            Self::Path(path) => path.variables(into),
            Self::Call(call) => call.variables(into),
        }
    }

    /// Why it fails for every input.
    #[must_use]
    pub fn misfit(&self) -> Option<&SyntaxError> {
        match self {
            Self::Path(_) => None,
            Self::Call(call) => call.misfit(),
        }
    }
}

/// Whether a path names any number of nodes of data that is certainly there.
fn selects_items(path: &Path) -> bool {
    !path.is_definite() && !matches!(path.root(), Root::Variable(_))
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A compiled payload template.
#[derive(Debug, Clone)]
pub struct Template {
    node: Node,
    expressions: usize,
}

/// Static parts stay whole, so that they are cloned as a whole.
#[derive(Debug, Clone)]
enum Node {
    Static(Value),
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Expression {
        /// The field as written, `value.$`.
        field: String,
        expression: Expression,
    },
}

/// Why a template cannot be compiled; `pointer` is the JSON pointer of the field inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateSyntaxError {
    pub pointer: String,
    pub kind: TemplateSyntaxErrorKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateSyntaxErrorKind {
    /// The value of a `….$` field is not a string.
    NotAString,
    /// The value of a `….$` field is neither a path nor an intrinsic function.
    Expression(SyntaxError),
    /// Two fields have the same name once `.$` is stripped.
    Duplicate { name: String },
    /// More levels than a template may have.
    TooDeep,
}

impl fmt::Display for TemplateSyntaxErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAString => f.write_str(
                "the value of a field that ends in `.$` must be a string with a path or an \
                 intrinsic function",
            ),
            Self::Expression(error) => error.fmt(f),
            Self::Duplicate { name } => {
                write!(f, "there is another field `{name}` once `.$` is stripped")
            }
            Self::TooDeep => write!(f, "nested more than {DEPTH_MAX} levels deep"),
        }
    }
}

/// Why a template has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateError {
    /// The field as written, `value.$`.
    pub field: String,
    pub error: EvalError,
}

impl fmt::Display for TemplateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "field '{}': {}", self.field, self.error)
    }
}

impl std::error::Error for TemplateError {}

impl Template {
    /// Compiles, or says all that is wrong.
    pub fn parse(value: &Value) -> Result<Self, Vec<TemplateSyntaxError>> {
        let mut compiler = Compiler::default();
        let node = compiler.compile(value, 0);
        if !compiler.errors.is_empty() {
            return Err(compiler.errors);
        }
        let node = node.unwrap_or_else(|| Node::Static(value.clone()));
        Ok(Self { node, expressions: compiler.expressions })
    }

    pub fn evaluate(&self, scope: &Scope<'_>) -> Result<Value, TemplateError> {
        let allowance = Allowance::for_copies(self.expressions);
        self.node.evaluate(scope, &allowance)
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, into: &mut dyn FnMut(&str)) {
        self.node.variables(into);
    }

    /// Every expression that fails for every input, with the JSON pointer of its field.
    pub fn misfits(&self, into: &mut dyn FnMut(&str, &SyntaxError)) {
        self.node.misfits(&mut String::new(), into);
    }

    /// A field of the outermost object, if it is the same for every input.
    #[must_use]
    pub fn fixed_field(&self, name: &str) -> Option<&Value> {
        match &self.node {
            Node::Static(value) => value.get(name),
            Node::Object(fields) => match fields.iter().find(|(field, _)| field == name)? {
                (_, Node::Static(value)) => Some(value),
                _ => None,
            },
            _ => None,
        }
    }
}

impl Node {
    fn evaluate(&self, scope: &Scope<'_>, allowance: &Allowance) -> Result<Value, TemplateError> {
        Ok(match self {
            Self::Static(value) => value.clone(),
            Self::Object(nodes) => {
                let mut fields = Map::with_capacity(nodes.len());
                for (name, node) in nodes {
                    fields.insert(name.clone(), node.evaluate(scope, allowance)?);
                }
                Value::Object(fields)
            }
            Self::Array(nodes) => {
                let items = nodes.iter().map(|node| node.evaluate(scope, allowance));
                Value::Array(items.collect::<Result<_, _>>()?)
            }
            Self::Expression { field, expression } => expression
                .evaluate(scope)
                .and_then(|value| allowance.spend(&value).map(|()| value.into_owned()))
                .map_err(|error| TemplateError { field: field.clone(), error })?,
        })
    }

    fn misfits(&self, pointer: &mut String, into: &mut dyn FnMut(&str, &SyntaxError)) {
        let mut below = |name: &str, node: &Self| {
            let length = pointer.len();
            extend(pointer, name);
            node.misfits(pointer, into);
            pointer.truncate(length);
        };
        match self {
            Self::Static(_) => {}
            Self::Object(nodes) => nodes.iter().for_each(|(name, node)| match node {
                Self::Expression { field, .. } => below(field, node),
                _ => below(name, node),
            }),
            Self::Array(nodes) => {
                let nodes = nodes.iter().enumerate();
                nodes.for_each(|(index, node)| below(&index.to_string(), node));
            }
            Self::Expression { expression, .. } => {
                expression.misfit().into_iter().for_each(|misfit| into(pointer, misfit));
            }
        }
    }

    fn variables(&self, into: &mut dyn FnMut(&str)) {
        match self {
            Self::Static(_) => {}
            Self::Object(nodes) => nodes.iter().for_each(|(_, node)| node.variables(into)),
            Self::Array(nodes) => nodes.iter().for_each(|node| node.variables(into)),
            Self::Expression { expression, .. } => expression.variables(into),
        }
    }
}

/// Walks a template, and collects all that is wrong.
#[derive(Default)]
struct Compiler {
    /// The pointer of the value at hand.
    pointer: String,
    errors: Vec<TemplateSyntaxError>,
    expressions: usize,
}

impl Compiler {
    /// `None` for a value without expressions: its parent may be static too.
    fn compile(&mut self, value: &Value, depth: usize) -> Option<Node> {
        match value {
            Value::Object(_) | Value::Array(_) if depth > DEPTH_MAX => {
                self.report(TemplateSyntaxErrorKind::TooDeep);
                None
            }
            Value::Object(fields) => self.object(fields, depth),
            Value::Array(items) => self.array(items, depth),
            _ => None,
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, depth: usize) -> Option<Node> {
        let mut nodes: Vec<Option<Node>> = Vec::with_capacity(fields.len());
        for (field, value) in fields {
            let length = self.enter(field);
            let name = stripped(field);
            // `a.$.$` becomes `a.$`, which is not a duplicate of what becomes `a`.
            let plain = stripped(name) == name;
            if name != field && plain && fields.contains_key(name) {
                let name = name.to_owned();
                self.report(TemplateSyntaxErrorKind::Duplicate { name });
            }
            nodes.push(if name == field {
                self.compile(value, depth + 1)
            } else {
                self.expression(field, value)
            });
            self.pointer.truncate(length);
        }
        if nodes.iter().all(Option::is_none) {
            return None;
        }
        let nodes = fields.iter().zip(nodes).map(|((field, value), node)| {
            let node = node.unwrap_or_else(|| Node::Static(value.clone()));
            (stripped(field).to_owned(), node)
        });
        Some(Node::Object(nodes.collect()))
    }

    fn array(&mut self, items: &[Value], depth: usize) -> Option<Node> {
        let mut nodes = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let length = self.enter(&index.to_string());
            nodes.push(self.compile(item, depth + 1));
            self.pointer.truncate(length);
        }
        if nodes.iter().all(Option::is_none) {
            return None;
        }
        let nodes = items.iter().zip(nodes);
        let node = |(item, node): (&Value, Option<Node>)| {
            node.unwrap_or_else(|| Node::Static(item.clone()))
        };
        Some(Node::Array(nodes.map(node).collect()))
    }

    fn expression(&mut self, field: &str, value: &Value) -> Option<Node> {
        let Value::String(text) = value else {
            self.report(TemplateSyntaxErrorKind::NotAString);
            return None;
        };
        match Expression::parse(text) {
            Ok(expression) => {
                self.expressions += 1;
                Some(Node::Expression { field: field.to_owned(), expression })
            }
            Err(error) => {
                self.report(TemplateSyntaxErrorKind::Expression(error));
                None
            }
        }
    }

    /// Adds a step to the pointer, and says how long it was before.
    fn enter(&mut self, name: &str) -> usize {
        let length = self.pointer.len();
        extend(&mut self.pointer, name);
        length
    }

    fn report(&mut self, kind: TemplateSyntaxErrorKind) {
        let pointer = self.pointer.clone();
        self.errors.push(TemplateSyntaxError { pointer, kind });
    }
}

/// Adds a step to a JSON pointer.
fn extend(pointer: &mut String, name: &str) {
    pointer.push('/');
    for character in name.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            character => pointer.push(character),
        }
    }
}

fn stripped(field: &str) -> &str {
    field.strip_suffix(".$").unwrap_or(field)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{Entropy, NoVariables};

    fn evaluate(template: &Value) -> Result<Value, TemplateError> {
        let template = Template::parse(template).unwrap();
        template.evaluate(&Scope {
            input: &json!({"flagged": 7, "vals": [0, 10, 20, 30, 40, 50]}),
            context: &json!({"DayOfWeek": "TUESDAY"}),
            variables: &NoVariables,
            entropy: &Entropy::new(0, 0),
            prints_structures: true,
        })
    }

    fn check(template: Value, expected: Value) {
        assert_eq!(evaluate(&template), Ok(expected), "{template}");
    }

    fn check_refused(template: Value, expected: &[(&str, &str)]) {
        let errors = Template::parse(&template).expect_err("refused");
        let found: Vec<_> =
            (errors.iter()).map(|error| (error.pointer.as_str(), error.kind.to_string())).collect();
        let found: Vec<_> = found.iter().map(|(at, kind)| (*at, kind.as_str())).collect();
        assert_eq!(found, expected, "{template}");
    }

    #[test]
    fn the_specifications_example() {
        check(
            json!({
                "flagged": true,
                "parts": {"first.$": "$.vals[0]", "last3.$": "$.vals[-3:]"},
                "weekday.$": "$$.DayOfWeek",
                "formattedOutput.$": "States.Format('Today is {}', $$.DayOfWeek)",
            }),
            json!({
                "flagged": true,
                "parts": {"first": 0, "last3": [30, 40, 50]},
                "weekday": "TUESDAY",
                "formattedOutput": "Today is TUESDAY",
            }),
        );
    }

    #[test]
    fn expressions_stand_at_any_depth() {
        check(json!([1, {"a": [{"x.$": "$.flagged"}]}]), json!([1, {"a": [{"x": 7}]}]));
        check(json!({"$": "$.flagged", ".$": "$.flagged"}), json!({"$": "$.flagged", "": 7}));
        check(json!("$.flagged"), json!("$.flagged"));
    }

    #[test]
    fn a_failure_names_its_field() {
        let error = evaluate(&json!({"a": {"value.$": "$.no"}})).unwrap_err();
        assert_eq!(error.field, "value.$");
        assert!(matches!(error.error, EvalError::Path { .. }));
    }

    #[test]
    fn every_problem_is_reported() {
        check_refused(
            json!({"a": 1, "a.$": "$", "b": [{"x/y~.$": "$.", "z.$": 1}]}),
            &[
                ("/a.$", "there is another field `a` once `.$` is stripped"),
                ("/b/0/x~1y~0.$", "a path must not end with `.`"),
                (
                    "/b/0/z.$",
                    "the value of a field that ends in `.$` must be a string with a path or an \
                     intrinsic function",
                ),
            ],
        );
        check_refused(
            json!({"a.$": "$", "a": 1}),
            &[("/a.$", "there is another field `a` once `.$` is stripped")],
        );
    }

    #[test]
    fn what_fails_for_every_input_is_found() {
        let wrong = "States.MathAdd(1, '-1')";
        let template = json!({"a": [1, {"b/.$": wrong}], "c.$": "States.MathAdd($.x, 1)"});
        let mut found = Vec::new();
        let compiled = Template::parse(&template).unwrap();
        compiled.misfits(&mut |at, misfit| found.push((at.to_owned(), misfit.message.clone())));
        let message = "argument 2 of States.MathAdd must be a number, but is a string";
        assert_eq!(found, [("/a/1/b~1.$".to_owned(), message.to_owned())]);
    }

    #[test]
    fn depth_and_copies_are_bounded() {
        let mut deep = json!({"a.$": "$"});
        for _ in 0..10_000 {
            deep = Value::Array(vec![deep]);
        }
        let errors = Template::parse(&deep).unwrap_err();
        assert_eq!(errors[0].kind, TemplateSyntaxErrorKind::TooDeep);
        let fields = (0..10_000).map(|n| (format!("{n}.$"), json!("$")));
        let template = Template::parse(&Value::Object(fields.collect())).unwrap();
        let scope = Scope {
            input: &json!("x".repeat(100_000)),
            context: &Value::Null,
            variables: &NoVariables,
            entropy: &Entropy::new(0, 0),
            prints_structures: true,
        };
        let error = template.evaluate(&scope).unwrap_err().error;
        assert!(matches!(error, EvalError::Limit { .. }));
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[a-z./~]{0,4}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn without_expressions_it_is_its_own_value(value in values()) {
            prop_assert_eq!(evaluate(&value), Ok(value));
        }
    }
}
