//! JSON in which any string may be an expression.

use serde_json::{Map, Value};

use jsonata_core::value::with_stack;

use super::{Expression, Session, delimited};
use crate::{EvalError, SyntaxError};

/// JSON in which any string may be an expression, compiled.
#[derive(Debug, Clone)]
pub struct Template {
    node: Node,
}

#[derive(Debug, Clone)]
enum Node {
    /// No expression anywhere inside.
    Static(Value),
    Expression(Expression),
    Array(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Why a template cannot be compiled; `pointer` is the JSON pointer of the string inside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateSyntaxError {
    pub pointer: String,
    pub error: SyntaxError,
}

/// Why a template has no value.
#[derive(Debug, Clone, PartialEq)]
pub struct TemplateError {
    /// Field names and indexes down to the expression, without the template's own name:
    /// `["result"]` for `Output/result`; empty if the template is one expression.
    pub location: Vec<String>,
    /// The expression as written, without delimiters.
    pub expression: String,
    pub error: EvalError,
}

impl Template {
    /// Compiles, or says all that is wrong.
    pub fn parse(value: &Value) -> Result<Self, Vec<TemplateSyntaxError>> {
        let mut compiler = Compiler::default();
        let node = compiler.node(value);
        if compiler.errors.is_empty() { Ok(Self { node }) } else { Err(compiler.errors) }
    }

    pub fn evaluate(&self, session: &Session<'_>) -> Result<Value, TemplateError> {
        self.node.evaluate(session)
    }

    /// Every expression in it.
    pub fn expressions(&self, into: &mut dyn FnMut(&Expression)) {
        self.node.expressions(into);
    }

    /// The names of the workflow variables it reads.
    pub fn variables(&self, into: &mut dyn FnMut(&str)) {
        self.expressions(&mut |expression| expression.variables(into));
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

#[derive(Default)]
struct Compiler {
    errors: Vec<TemplateSyntaxError>,
    pointer: String,
}

impl Compiler {
    fn node(&mut self, value: &Value) -> Node {
        match value {
            Value::String(text) => self.text(value, text),
            Value::Array(items) => with_stack(|| self.array(value, items)),
            Value::Object(fields) => with_stack(|| self.object(value, fields)),
            scalar => Node::Static(scalar.clone()),
        }
    }

    fn text(&mut self, value: &Value, text: &str) -> Node {
        match delimited(text).map(Expression::parse) {
            None => Node::Static(value.clone()),
            Some(Ok(expression)) => Node::Expression(expression),
            Some(Err(mut error)) => {
                // The caller sees the string, delimiters and all.
                error.span = error.span.start + 2..error.span.end + 2;
                self.errors.push(TemplateSyntaxError { pointer: self.pointer.clone(), error });
                Node::Static(Value::Null)
            }
        }
    }

    fn array(&mut self, value: &Value, items: &[Value]) -> Node {
        let nodes: Vec<Node> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.below(&index.to_string(), item))
            .collect();
        if nodes.iter().all(Node::is_static) {
            return Node::Static(value.clone());
        }
        Node::Array(nodes)
    }

    fn object(&mut self, value: &Value, fields: &Map<String, Value>) -> Node {
        let nodes: Vec<(String, Node)> =
            fields.iter().map(|(name, field)| (name.clone(), self.below(name, field))).collect();
        if nodes.iter().all(|(_, node)| node.is_static()) {
            return Node::Static(value.clone());
        }
        Node::Object(nodes)
    }

    fn below(&mut self, name: &str, value: &Value) -> Node {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
        let node = self.node(value);
        self.pointer.truncate(length);
        node
    }
}

impl Node {
    fn is_static(&self) -> bool {
        matches!(self, Self::Static(_))
    }

    fn evaluate(&self, session: &Session<'_>) -> Result<Value, TemplateError> {
        match self {
            Self::Static(value) => Ok(value.clone()),
            Self::Expression(expression) => {
                session.evaluate(expression).map_err(|error| TemplateError {
                    location: Vec::new(),
                    expression: expression.as_str().to_owned(),
                    error,
                })
            }
            Self::Array(items) => with_stack(|| {
                let items = items.iter().enumerate().map(|(index, item)| {
                    item.evaluate(session).map_err(|error| error.below(index.to_string()))
                });
                items.collect::<Result<_, _>>().map(Value::Array)
            }),
            Self::Object(fields) => with_stack(|| {
                let fields = fields.iter().map(|(name, field)| {
                    let value =
                        field.evaluate(session).map_err(|error| error.below(name.clone()))?;
                    Ok((name.clone(), value))
                });
                fields.collect::<Result<_, _>>().map(Value::Object)
            }),
        }
    }

    fn expressions(&self, into: &mut dyn FnMut(&Expression)) {
        match self {
            Self::Static(_) => {}
            Self::Expression(expression) => into(expression),
            Self::Array(items) => items.iter().for_each(|item| item.expressions(into)),
            Self::Object(fields) => fields.iter().for_each(|(_, field)| field.expressions(into)),
        }
    }
}

impl TemplateError {
    fn below(mut self, name: String) -> Self {
        self.location.insert(0, name);
        self
    }
}
