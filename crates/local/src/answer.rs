//! What answers a task: a mocked response, or a command that stands for a function.

use everstep_asl::Machine;
use everstep_asl::error_name;
use everstep_asl::model::{Kind, Pattern, Resource, function_event, function_name};
use everstep_interpreter::{Dialect, Failure, reported_by_code};
use everstep_source::nearest;
use everstep_source::words::choices;
use serde_json::{Value, json};

use crate::Error;
use crate::function::{OUTPUT_BYTES_MAX, Outcome};
use crate::mock::{Mocks, Response};
use everstep_analysis::explain::each;

/// The name of a function that answers whatever no other does.
const ANY: &str = "*";

/// `--function NAME=COMMAND`
#[derive(Debug, Clone)]
pub struct Function {
    pub name: String,
    pub command: String,
}

impl Function {
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, command)) if !name.trim().is_empty() && !command.trim().is_empty() => {
                Ok(Self { name: name.trim().to_owned(), command: command.trim().to_owned() })
            }
            _ => Err("expected NAME=COMMAND, such as 'charge=python3 charge.py'".to_owned()),
        }
    }
}

#[derive(Debug)]
pub struct Answers {
    pub mocks: Option<Mocks>,
    pub functions: Vec<Function>,
}

/// What a task is answered by.
#[derive(Debug)]
pub(crate) enum Answer {
    Mocked(Response),
    /// `input` is JSON.
    Command {
        name: String,
        command: String,
        input: String,
        form: Form,
    },
    Refused(Failure),
}

/// What a command's output is to the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// The result itself.
    Result,
    /// The result of a Lambda function that was named by its ARN.
    Lambda,
    /// The `Payload` in the answer of `lambda:invoke`.
    Invocation,
}

impl Answers {
    /// Rejects functions that no state of the definition can call.
    pub fn check(&self, machine: &Machine) -> Result<(), Error> {
        let states = each(machine);
        let tasks = states.iter().filter_map(|found| match &found.state.kind {
            Kind::Task(task) => Some((&*found.state.name, &*task.resource)),
            _ => None,
        });
        let mut names: Vec<String> = Vec::new();
        for (state, resource) in tasks {
            // The name of the function is in the data, which is not known yet.
            if matches!(resource, Resource::Service { .. }) && resource.is_lambda() {
                return Ok(());
            }
            names.extend(names_of(state, resource, &Value::Null));
        }
        for function in &self.functions {
            if function.name == ANY || names.contains(&function.name) {
                continue;
            }
            let known = || names.iter().map(String::as_str);
            return match nearest(&function.name, known()) {
                Some(near) => Err(Error::new(format!(
                    "no state calls the function `{}`; did you mean `{near}`?",
                    function.name
                ))),
                None => Err(Error::new(format!("no state calls the function `{}`", function.name))),
            };
        }
        Ok(())
    }

    pub(crate) fn find(
        &mut self,
        state: &str,
        resource: &Resource,
        parameters: &Value,
    ) -> Result<Option<Answer>, Error> {
        if let Some(mocks) = &mut self.mocks
            && let Some(response) = mocks.next(state)?
        {
            return Ok(Some(Answer::Mocked(response)));
        }
        let names = names_of(state, resource, parameters);
        let Some(function) = self.function(&names) else { return Ok(None) };
        let form = form(resource);
        let input = match form {
            Form::Invocation => match function_event(parameters.get("Payload")) {
                Ok(text) => text.into_owned(),
                Err(error) => return Ok(Some(Answer::Refused(not_json(&error)))),
            },
            Form::Result | Form::Lambda => parameters.to_string(),
        };
        let name = names[0].clone();
        Ok(Some(Answer::Command { name, command: function.command.clone(), input, form }))
    }

    fn function(&self, names: &[String]) -> Option<&Function> {
        let find = |name: &str| self.functions.iter().find(|function| function.name == name);
        names.iter().find_map(|name| find(name)).or_else(|| find(ANY))
    }

    /// Why a state cannot go on, and what to do about it.
    pub(crate) fn missing(&self, state: &str, resource: &Resource, machine: &Machine) -> Error {
        let states = each(machine);
        let without: Vec<&str> = states
            .iter()
            .filter_map(|found| match &found.state.kind {
                Kind::Task(task) if !self.covers(&found.state.name, &task.resource) => {
                    Some(&*found.state.name)
                }
                _ => None,
            })
            .collect();
        let name = names_of(state, resource, &Value::Null).remove(0);
        let advice = match &self.mocks {
            Some(mocks) => {
                format!("add a response to test case `{}` of {}", mocks.case(), mocks.file())
            }
            None => "add a mocked response with `--mock FILE`".to_owned(),
        };
        let others = match without.len() {
            0 | 1 => String::new(),
            _ => format!("\nhint: states without an answer: {}", choices(without.into_iter())),
        };
        Error::new(format!(
            "no answer for the task of state `{state}`: {advice}, or a command with \
             `--function '{name}=COMMAND'`{others}"
        ))
    }

    fn covers(&self, state: &str, resource: &Resource) -> bool {
        let names = names_of(state, resource, &Value::Null);
        self.mocks.as_ref().is_some_and(|mocks| mocks.has(state)) || self.function(&names).is_some()
    }
}

/// The names by which a function for a task can be given, the best one first.
fn names_of(state: &str, resource: &Resource, parameters: &Value) -> Vec<String> {
    let mut names = Vec::new();
    match resource {
        Resource::Lambda { arn } => names.extend(function_name(arn).map(str::to_owned)),
        Resource::Activity { arn } => names.extend(arn.rsplit(':').next().map(str::to_owned)),
        Resource::Service { .. } if resource.is_lambda() => {
            let name =
                parameters.get("FunctionName").and_then(Value::as_str).and_then(function_name);
            names.extend(name.map(str::to_owned));
        }
        Resource::Placeholder(text) => {
            let inner = text.split_once("${").and_then(|(_, rest)| rest.split_once('}'));
            if let Some((name, _)) = inner {
                names.push(name.split('.').next().unwrap_or(name).to_owned());
            }
        }
        Resource::Service { .. } | Resource::Uri(_) => {}
    }
    names.push(state.to_owned());
    names.push(resource.as_str().to_owned());
    names
}

/// A `Payload` that Lambda does not take.
fn not_json(error: &serde_json::Error) -> Failure {
    let cause = format!("Could not parse request body into json: {error}");
    Failure::new("Lambda.InvalidRequestContentException", cause)
}

fn form(resource: &Resource) -> Form {
    match resource {
        Resource::Lambda { .. } => Form::Lambda,
        Resource::Service { pattern: Pattern::RequestResponse, .. } if resource.is_lambda() => {
            Form::Invocation
        }
        _ => Form::Result,
    }
}

/// What a command that has ended means to its task.
pub(crate) fn result(outcome: &Outcome, form: Form, dialect: Dialect) -> Result<Value, Failure> {
    if outcome.output.len() >= OUTPUT_BYTES_MAX {
        let cause = "the command printed 8 MiB or more; a result can have at most 256 KiB";
        return Err(Failure::new(error_name::DATA_LIMIT_EXCEEDED, cause));
    }
    let text = String::from_utf8_lossy(&outcome.output);
    let text = text.trim();
    if !outcome.status.success() {
        return Err(failure(outcome, text, form, dialect));
    }
    if text.is_empty() {
        return Ok(wrapped(Value::Null, form));
    }
    match serde_json::from_str(text) {
        Ok(value) => Ok(wrapped(value, form)),
        Err(error) => {
            let cause = format!("the output of the command is not JSON: {error}");
            Err(Failure::new(crash(form, "Runtime.InvalidResponse"), cause))
        }
    }
}

fn wrapped(value: Value, form: Form) -> Value {
    match form {
        Form::Result | Form::Lambda => value,
        Form::Invocation => {
            json!({ "ExecutedVersion": "$LATEST", "Payload": value, "StatusCode": 200 })
        }
    }
}

fn failure(outcome: &Outcome, text: &str, form: Form, dialect: Dialect) -> Failure {
    let thrown = serde_json::from_str::<Value>(text).ok();
    if let Some(name) = thrown.as_ref().and_then(|value| value.get("errorType")?.as_str()) {
        return reported_by_code(Failure::new(name, text), dialect);
    }
    let end = match outcome.status.code() {
        Some(code) => format!("the command exited with code {code}"),
        None => format!("the command was killed by a signal ({})", outcome.status),
    };
    let cause = match &outcome.last_line {
        Some(line) => format!("{end}: {line}"),
        None => end,
    };
    Failure::new(crash(form, "Runtime.ExitError"), cause)
}

/// The name of a failure that has none: a function's, as the service calls it. What the dialect makes of it is
/// the interpreter's.
fn crash(form: Form, name: &'static str) -> &'static str {
    match form {
        Form::Result => error_name::TASK_FAILED,
        Form::Lambda | Form::Invocation => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(resource: &str, parameters: &Value, expected: &[&str]) {
        let names = names_of("S", &Resource::classify(resource), parameters);
        assert_eq!(names, expected, "{resource}");
    }

    #[test]
    fn functions_have_several_names() {
        let arn = "arn:aws:lambda:us-east-1:123456789012:function:charge:live";
        check(arn, &json!({}), &["charge", "S", arn]);
        let invoke = "arn:aws:states:::lambda:invoke";
        check(invoke, &json!({ "FunctionName": arn }), &["charge", "S", invoke]);
        check(invoke, &json!({ "FunctionName": "charge:1" }), &["charge", "S", invoke]);
        check(invoke, &json!({}), &["S", invoke]);
        check("${Charge.Arn}", &json!({}), &["Charge", "S", "${Charge.Arn}"]);
        let activity = "arn:aws:states:us-east-1:123456789012:activity:approve";
        check(activity, &json!({}), &["approve", "S", activity]);
    }

    #[test]
    fn a_command_gets_the_event_of_an_invocation() {
        let function = Function::parse("*=cat").unwrap();
        let mut answers = Answers { mocks: None, functions: vec![function] };
        let invoke = Resource::classify("arn:aws:states:::lambda:invoke");
        let mut check = |payload: Value, expected: Result<&str, &str>| {
            let parameters = json!({ "FunctionName": "f", "Payload": payload });
            let found = match answers.find("S", &invoke, &parameters).unwrap() {
                Some(Answer::Command { input, .. }) => Ok(input),
                Some(Answer::Refused(failure)) => Err(failure.name().to_owned()),
                other => panic!("{other:?}"),
            };
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned));
        };
        check(json!({ "a": 1 }), Ok("{\"a\":1}"));
        check(json!("{\"a\": 1}"), Ok("{\"a\": 1}"));
        check(Value::Null, Ok("{}"));
        check(json!("text"), Err("Lambda.InvalidRequestContentException"));
    }

    #[test]
    fn functions_are_named_and_given() {
        let function = Function::parse("charge = python3 f.py a=b").unwrap();
        assert_eq!((&*function.name, &*function.command), ("charge", "python3 f.py a=b"));
        for wrong in ["charge", "=x", "charge= "] {
            assert!(Function::parse(wrong).is_err(), "{wrong}");
        }
    }
}
