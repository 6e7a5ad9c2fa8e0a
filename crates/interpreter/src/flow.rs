//! Data into a state and out of it, in both query languages.

use std::borrow::Cow;
use std::sync::Arc;

use everstep_asl::model::{
    Assign, Catcher, DataFlow, Operand, OptionalPath, Payload as Template, QueryLanguage,
    ResultPath, State,
};
use everstep_expr::jsonata::{self, Session};
use everstep_expr::path::ReferencePath;
use everstep_expr::{Entropy, Scope, Variables, template};
use everstep_history::{FrameId, Payload};
use serde_json::{Map, Value, json};

use crate::context::Extra;
use crate::execution::Execution;
use crate::fault::{self, Fault};
use crate::raised::RaisedFailure;

/// Evaluates the expressions of one state at one moment. Variables and context do not change
/// while a state is evaluated.
pub(crate) struct Evaluation<'a> {
    pub(crate) execution: &'a Execution,
    pub(crate) frame: FrameId,
    pub(crate) entropy: &'a Entropy,
    pub(crate) context: Cow<'a, Value>,
}

impl Variables for Evaluation<'_> {
    fn get(&self, name: &str) -> Option<&Value> {
        self.execution.variable(self.frame, name).map(Payload::value)
    }
}

/// What `$states` has besides `input` and `context`.
#[derive(Clone, Copy)]
pub(crate) enum More<'v> {
    Nothing,
    Result(&'v Value),
    ErrorOutput(&'v Value),
}

impl<'a> Evaluation<'a> {
    pub(crate) fn new(
        execution: &'a Execution,
        frame: FrameId,
        entropy: &'a Entropy,
        extra: Extra<'_>,
    ) -> Self {
        let needed = execution.state_of(frame).is_some_and(|state| state.reads_context);
        let context = if needed {
            Cow::Owned(execution.context(frame, extra))
        } else {
            Cow::Borrowed(&Value::Null)
        };
        Self { execution, frame, entropy, context }
    }

    pub(crate) fn scope<'s>(&'s self, input: &'s Value) -> Scope<'s> {
        Scope {
            input,
            context: &self.context,
            variables: self,
            entropy: self.entropy,
            prints_structures: self.execution.program.dialect.prints_structures(),
        }
    }

    fn session<'s>(&'s self, input: &'s Value, more: More<'s>) -> Session<'s> {
        let (result, error_output) = match more {
            More::Nothing => (None, None),
            More::Result(value) => (Some(value), None),
            More::ErrorOutput(value) => (None, Some(value)),
        };
        let states = jsonata::States { input, context: &self.context, result, error_output };
        Session::new(states, self, self.entropy)
    }

    /// `InputPath` or `OutputPath`.
    fn select(&self, path: &OptionalPath, data: &Payload) -> Result<Payload, Fault> {
        match path {
            OptionalPath::Whole => Ok(data.clone()),
            OptionalPath::Discard => Ok(Payload::new(Value::Object(Map::new()))),
            OptionalPath::Path(path) => {
                let selected = path.evaluate(&self.scope(data)).map_err(Fault::Path)?;
                Ok(Payload::new(selected.into_owned()))
            }
        }
    }

    /// The raw input after `InputPath`.
    pub(crate) fn selected_input(&self, state: &State, input: &Payload) -> Result<Payload, Fault> {
        match &state.flow {
            DataFlow::JsonPath(flow) => self.select(&flow.input_path, input),
            DataFlow::Jsonata(_) => Ok(input.clone()),
        }
    }

    /// What is left of `data` after `OutputPath`.
    pub(crate) fn selected_output(&self, state: &State, data: &Payload) -> Result<Payload, Fault> {
        match &state.flow {
            DataFlow::JsonPath(flow) => self.select(&flow.output_path, data),
            DataFlow::Jsonata(_) => Ok(data.clone()),
        }
    }

    /// The effective input: after `InputPath` and `Parameters`, or `Arguments`.
    pub(crate) fn effective_input(&self, state: &State, input: &Payload) -> Result<Payload, Fault> {
        match &state.flow {
            DataFlow::JsonPath(flow) => {
                let selected = self.select(&flow.input_path, input)?;
                match &flow.parameters {
                    Some(parameters) => {
                        fault::not_too_deep(self.template(parameters, &selected)?.into())
                    }
                    None => Ok(selected),
                }
            }
            DataFlow::Jsonata(flow) => match &flow.arguments {
                Some(arguments) => fault::not_too_deep(
                    self.jsonata(arguments, "Arguments", input, More::Nothing)?.into(),
                ),
                None => Ok(input.clone()),
            },
        }
    }

    pub(crate) fn template(
        &self,
        template: &template::Template,
        input: &Value,
    ) -> Result<Value, Fault> {
        template
            .evaluate(&self.scope(input))
            .map_err(|error| Fault::Template { error, input: input.to_string() })
    }

    pub(crate) fn jsonata(
        &self,
        template: &jsonata::Template,
        field: &str,
        input: &Value,
        more: More<'_>,
    ) -> Result<Value, Fault> {
        template
            .evaluate(&self.session(input, more))
            .map_err(|error| fault::of_jsonata(field, error))
    }

    /// One expression in a field of its own.
    pub(crate) fn expression(
        &self,
        expression: &jsonata::Expression,
        field: &str,
        input: &Value,
    ) -> Result<Value, Fault> {
        self.session(input, More::Nothing).evaluate(expression).map_err(|error| Fault::Jsonata {
            location: field.to_owned(),
            expression: expression.as_str().to_owned(),
            error,
        })
    }

    /// A payload in either language.
    pub(crate) fn payload(
        &self,
        payload: &Template,
        field: &str,
        input: &Value,
    ) -> Result<Value, Fault> {
        match payload {
            Template::JsonPath(template) => self.template(template, input),
            Template::Jsonata(template) => self.jsonata(template, field, input, More::Nothing),
        }
    }

    /// What a state that did its work passes on: `ResultSelector → ResultPath → OutputPath`, or
    /// `Output`; and what it assigns.
    pub(crate) fn finish(
        &self,
        state: &State,
        input: &Payload,
        result: Payload,
    ) -> Result<Finished, Fault> {
        self.finish_seen(state, input, result, |_, _| {})
    }

    /// The same, for one who wants to see what the result is on its way.
    pub(crate) fn finish_seen(
        &self,
        state: &State,
        input: &Payload,
        result: Payload,
        mut see: impl FnMut(Stage, &Payload),
    ) -> Result<Finished, Fault> {
        match &state.flow {
            DataFlow::JsonPath(flow) => {
                let result = match &flow.result_selector {
                    Some(selector) => Payload::new(self.template(selector, &result)?),
                    None => result,
                };
                see(Stage::AfterResultSelector, &result);
                let assigned = self.assign(state.assign.as_ref(), &result, input, More::Nothing)?;
                let placed = self.place(&flow.result_path, input, result)?;
                see(Stage::AfterResultPath, &placed);
                Ok(Finished { output: self.select(&flow.output_path, &placed)?, assigned })
            }
            DataFlow::Jsonata(flow) => {
                let more = More::Result(&result);
                let output = match &flow.output {
                    Some(output) => Some(self.jsonata(output, "Output", input, more)?),
                    None => None,
                };
                let assigned = self.assign(state.assign.as_ref(), &result, input, more)?;
                Ok(Finished { output: output.map_or(result, Payload::new), assigned })
            }
        }
    }

    /// What a state without a result passes on.
    pub(crate) fn pass_on(&self, state: &State, input: &Payload) -> Result<Finished, Fault> {
        match &state.flow {
            DataFlow::JsonPath(flow) => {
                let selected = self.select(&flow.input_path, input)?;
                let assigned =
                    self.assign(state.assign.as_ref(), &selected, input, More::Nothing)?;
                Ok(Finished { output: self.select(&flow.output_path, &selected)?, assigned })
            }
            DataFlow::Jsonata(flow) => self.output_and_assign(
                flow.output.as_ref(),
                state.assign.as_ref(),
                input,
                More::Nothing,
                input,
            ),
        }
    }

    /// `Output` and `Assign` in JSONata; `default` where there is no `Output`.
    pub(crate) fn output_and_assign(
        &self,
        output: Option<&jsonata::Template>,
        assign: Option<&Assign>,
        input: &Payload,
        more: More<'_>,
        default: &Payload,
    ) -> Result<Finished, Fault> {
        let output = match output {
            Some(output) => Payload::new(self.jsonata(output, "Output", input, more)?),
            None => default.clone(),
        };
        Ok(Finished { output, assigned: self.assign(assign, default, input, more)? })
    }

    /// What a state passes on whose failure a catcher took.
    pub(crate) fn caught(
        &self,
        state: &State,
        catcher: &Catcher,
        raised: &RaisedFailure,
        input: &Payload,
    ) -> Result<Finished, Fault> {
        let part = |text: Option<&Arc<str>>| {
            text.map_or_else(|| raised.missing_text.clone(), |text| json!(&**text))
        };
        let output = Payload::new(json!({
            "Error": part(raised.failure.error.as_ref()),
            "Cause": part(raised.failure.cause.as_ref()),
        }));
        let assign = catcher.assign.as_ref();
        match state.query_language {
            QueryLanguage::JsonPath => Ok(Finished {
                assigned: self.assign(assign, &output, input, More::Nothing)?,
                output: self.place(&catcher.result_path, input, output)?,
            }),
            QueryLanguage::Jsonata => {
                let more = More::ErrorOutput(&output);
                self.output_and_assign(catcher.output.as_ref(), assign, input, more, &output)
            }
        }
    }

    /// `Assign`. In JSONPath `$` is `data`; in JSONata `$states.input` is the state's input.
    pub(crate) fn assign(
        &self,
        assign: Option<&Assign>,
        data: &Value,
        input: &Value,
        more: More<'_>,
    ) -> Result<Vec<(Arc<str>, Payload)>, Fault> {
        let Some(assign) = assign else { return Ok(Vec::new()) };
        let values = match &assign.payload {
            Template::JsonPath(template) => self.template(template, data)?,
            Template::Jsonata(template) => self.jsonata(template, "Assign", input, more)?,
        };
        let Value::Object(values) = values else { return Ok(Vec::new()) };
        let variable = |(name, value): (String, Value)| {
            Ok((Arc::from(name), fault::not_too_deep(value.into())?))
        };
        values.into_iter().map(variable).collect()
    }

    /// `ResultPath`.
    pub(crate) fn place(
        &self,
        path: &ResultPath,
        input: &Payload,
        result: Payload,
    ) -> Result<Payload, Fault> {
        match path {
            ResultPath::Replace => Ok(result),
            ResultPath::Discard => Ok(input.clone()),
            ResultPath::Insert(path) => {
                let placed = path.insert(input.value().clone(), result.into_value());
                let fault = |_| Fault::ResultPath {
                    path: path.to_string(),
                    input: input.value().to_string(),
                };
                placed.map(Payload::new).map_err(fault)
            }
        }
    }

    /// The value behind a setting.
    pub(crate) fn operand<T: Clone>(
        &self,
        operand: &Operand<T>,
        field: &'static str,
        input: &Value,
        read: impl Fn(&Value, Place<'_>) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        match operand {
            Operand::Literal(value) => Ok(value.clone()),
            Operand::Path(path) => {
                let value = path.evaluate(&self.scope(input)).map_err(Fault::Path)?;
                read(&value, Place::Path { field, path })
            }
            Operand::Jsonata(expression) => {
                let value = self.expression(expression, field, input)?;
                read(&value, Place::Jsonata { field, expression: expression.as_str() })
            }
        }
    }
}

/// Where a value that a setting refers to came from, for its messages.
#[derive(Clone, Copy)]
pub(crate) enum Place<'p> {
    Path { field: &'static str, path: &'p ReferencePath },
    Jsonata { field: &'static str, expression: &'p str },
}

/// What a result is on its way to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    AfterResultSelector,
    AfterResultPath,
}

pub(crate) struct Finished {
    pub(crate) output: Payload,
    pub(crate) assigned: Vec<(Arc<str>, Payload)>,
}
