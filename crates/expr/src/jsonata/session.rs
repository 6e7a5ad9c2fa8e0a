//! The data of one state, and the evaluation of expressions on it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use jsonata_core::evaluator::{
    Context, Evaluator, EvaluatorError, EvaluatorOptions, error_code_prefix,
};
use jsonata_core::value::JValue;
use serde_json::Value;

use super::analysis::Analysis;
use super::guard::{self, Ledger};
use super::plan::Planned;
use super::{Expression, convert, functions, limits};
use crate::{Entropy, EvalError, Variables};

/// The data of one state, converted once for all the expressions of that state, and only
/// as far as they read it.
pub struct Session<'a> {
    states: States<'a>,
    variables: &'a dyn Variables,
    entropy: &'a Entropy,
    converted: RefCell<Converted>,
}

/// The value of `$states`, in parts, so that they need not be put together.
#[derive(Debug, Clone, Copy)]
pub struct States<'a> {
    pub input: &'a Value,
    pub context: &'a Value,
    pub result: Option<&'a Value>,
    pub error_output: Option<&'a Value>,
}

impl<'a> States<'a> {
    fn fields(self) -> impl Iterator<Item = (&'static str, &'a Value)> {
        let always = [("input", self.input), ("context", self.context)];
        let result = self.result.map(|value| ("result", value));
        let error_output = self.error_output.map(|value| ("errorOutput", value));
        always.into_iter().chain(result).chain(error_output)
    }

    fn get(self, name: &str) -> Option<&'a Value> {
        self.fields().find(|(field, _)| *field == name).map(|(_, value)| value)
    }
}

impl<'a> From<&'a Value> for States<'a> {
    fn from(states: &'a Value) -> Self {
        Self {
            input: &states["input"],
            context: &states["context"],
            result: states.get("result"),
            error_output: states.get("errorOutput"),
        }
    }
}

/// What the engine has been given so far.
#[derive(Default)]
struct Converted {
    states: HashMap<String, JValue>,
    variables: HashMap<String, JValue>,
}

impl<'a> Session<'a> {
    #[must_use]
    pub fn new(
        states: impl Into<States<'a>>,
        variables: &'a dyn Variables,
        entropy: &'a Entropy,
    ) -> Self {
        Self { states: states.into(), variables, entropy, converted: RefCell::default() }
    }

    /// The value; `EvalError::Undefined` if there is none.
    pub fn evaluate(&self, expression: &Expression) -> Result<Value, EvalError> {
        let planned = expression.compiled().plan.as_ref();
        match planned
            .map_or(Planned::Unclear, |plan| plan.evaluate(&|name, fields| self.root(name, fields)))
        {
            Planned::Value(value) => Ok(value.into_owned()),
            Planned::Undefined => Err(EvalError::Undefined),
            Planned::Unclear => {
                let effort = self.entropy.effort();
                effort.check()?;
                let timeout_ms = Some(effort.ms_left());
                let options = EvaluatorOptions { timeout_ms, ..guard::options() };
                self.run(expression, &JValue::Undefined, options)
            }
        }
    }

    fn root<'f>(&self, name: &str, fields: &'f [String]) -> Option<(&'f Value, &'f [String])>
    where
        'a: 'f,
    {
        if name != "states" {
            return Some((self.variables.get(name)?, fields));
        }
        let (first, rest) = fields.split_first()?;
        Some((self.states.get(first)?, rest))
    }

    /// Evaluates in the engine, with `input` as the context at the top level.
    pub(super) fn run(
        &self,
        expression: &Expression,
        input: &JValue,
        options: EvaluatorOptions,
    ) -> Result<Value, EvalError> {
        let context = self.context(expression)?;
        let ledger = Rc::new(Ledger::new());
        // The engine is not ours: should it panic, then only this evaluation fails.
        let evaluate_and_keep = || {
            let mut evaluator = Evaluator::with_options(context, options);
            let names = &expression.compiled().analysis.names;
            functions::register(&mut evaluator, names, self.entropy, &ledger)?;
            guard::register(&mut evaluator, names, &ledger)?;
            let value = evaluator.evaluate(&expression.compiled().ast, input)?;
            Ok(convert::from_engine(&value))
        };
        let evaluate = || {
            let value = evaluate_and_keep();
            ledger.release();
            value
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if expression.compiled().makes_functions {
                // Released on this stack too, all that the functions hold.
                stacker::grow(limits::STACK_BYTES, evaluate)
            } else {
                evaluate()
            }
        }));
        match outcome {
            Ok(Ok(value)) => value?.ok_or(EvalError::Undefined),
            Ok(Err(_)) if ledger.is_exhausted() => Err(limits::memory()),
            Ok(Err(error)) => Err(failure(&error)),
            Err(_) => Err(EvalError::Jsonata {
                code: None,
                message: "the expression cannot be evaluated: internal error of the engine"
                    .to_owned(),
            }),
        }
    }

    fn context(&self, expression: &Expression) -> Result<Context, EvalError> {
        let mut context = Context::new();
        let analysis = &expression.compiled().analysis;
        for name in &analysis.names {
            if name == "states" {
                context.bind(name.clone(), self.states(analysis)?);
            } else if let Some(value) = self.variable(name)? {
                context.bind(name.clone(), value);
            } else {
                guard::bind(&mut context, name);
            }
        }
        Ok(context)
    }

    /// `$states`, with no more fields than are read.
    fn states(&self, analysis: &Analysis) -> Result<JValue, EvalError> {
        let is_read = |name: &str| {
            analysis.states_whole || analysis.states_fields.iter().any(|field| field == name)
        };
        let converted = &mut self.converted.borrow_mut().states;
        let read = self.states.fields().filter(|(name, _)| is_read(name));
        Ok(JValue::object(
            read.map(|(name, value)| Ok((name.to_owned(), once(converted, name, value)?)))
                .collect::<Result<_, EvalError>>()?,
        ))
    }

    fn variable(&self, name: &str) -> Result<Option<JValue>, EvalError> {
        let Some(value) = self.variables.get(name) else {
            return Ok(None);
        };
        let converted = &mut self.converted.borrow_mut().variables;
        once(converted, name, value).map(Some)
    }
}

/// The converted value of that name, converted now if it was not before.
fn once(
    converted: &mut HashMap<String, JValue>,
    name: &str,
    value: &Value,
) -> Result<JValue, EvalError> {
    if let Some(known) = converted.get(name) {
        return Ok(known.clone());
    }
    let value = convert::to_engine(value)?;
    converted.insert(name.to_owned(), value.clone());
    Ok(value)
}

/// The engine's error, in our terms.
fn failure(error: &EvaluatorError) -> EvalError {
    let message = error.message();
    let message = message.strip_prefix("Signature validation failed: ").unwrap_or(message);
    let (code, message) = match error_code_prefix(message) {
        Some(code) => (Some(code), message[code.len() + 1..].trim_start()),
        None => (None, message),
    };
    match code {
        Some("D1011" | "U1001" | "U1002") => limits::depth(),
        Some("D1012") => limits::time(),
        Some("D2014" | "D2015") => limits::memory(),
        // The engine adds what was invoked; the reference says no more than this.
        Some("T1006") => thrown(code, "Attempted to invoke a non-function"),
        code => thrown(code, message),
    }
}

fn thrown(code: Option<&str>, message: &str) -> EvalError {
    EvalError::Jsonata {
        code: code.map(str::to_owned),
        message: message.chars().take(limits::MESSAGE_LENGTH_MAX).collect(),
    }
}
