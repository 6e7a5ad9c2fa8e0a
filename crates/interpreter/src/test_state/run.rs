//! The state at work, by its type.

use std::borrow::Cow;
use std::sync::Arc;

use everstep_asl::handling::{self, Decision};
use everstep_asl::model::{
    DataFlow, Kind, Map, Parallel, Pass, QueryLanguage, State, Task, Transition,
};
use everstep_expr::Entropy;
use everstep_history::{Attempt, Failure, Payload};
use serde_json::{Value, json};

use super::context::has_token;
use super::definition::LONE_NAME;
use super::request::{Level, MockError, Request, RequestError};
use super::response::{Call, ErrorDetails, Inspection, Response, TestStatus, Tested};
use super::{FRAME, items};
use crate::context::Extra;
use crate::execution::Execution;
use crate::fault::Fault;
use crate::flow::{Evaluation, Finished, Stage};
use crate::raised::RaisedFailure;
use crate::states;

/// A state under test.
pub(super) struct Bench<'r> {
    pub(super) request: &'r Request,
    /// In the state, as its only frame.
    pub(super) execution: Execution,
    /// In place of the execution's own.
    pub(super) context: Option<Value>,
    pub(super) entropy: Entropy,
}

/// How far a state came.
enum Came {
    Out(Finished, Option<Arc<str>>),
    Failed(RaisedFailure),
    Calls(Call),
}

/// Why it came no further.
enum Stop {
    Fault(Fault),
    Refused(RequestError),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<RequestError> for Stop {
    fn from(error: RequestError) -> Self {
        Self::Refused(error)
    }
}

impl Bench<'_> {
    pub(super) fn run(&self) -> Result<Tested, RequestError> {
        let Some(state) = self.execution.state_of(FRAME) else {
            return Err(RequestError::invalid("State not found in definition"));
        };
        let mut seen = Inspection { input: Some(self.input()), ..Inspection::default() };
        let response = match self.work(state, &mut seen) {
            Ok(Came::Out(finished, next)) => self.leave(state, finished, next, &mut seen),
            Ok(Came::Failed(trouble)) => self.fail(state, &trouble, &mut seen),
            Ok(Came::Calls(call)) => return Ok(Tested::Calls(call)),
            Err(Stop::Fault(fault)) => self.fault(state, fault, &mut seen),
            Err(Stop::Refused(error)) => return Err(error),
        };
        let inspection = (self.request.level != Level::Info).then_some(seen);
        Ok(Tested::Done(Box::new(Response { inspection, ..response })))
    }

    fn work(&self, state: &State, seen: &mut Inspection) -> Result<Came, Stop> {
        match &state.kind {
            Kind::Pass(pass) => self.pass(state, pass, seen),
            Kind::Task(task) => self.task(state, task, seen),
            Kind::Parallel(parallel) => self.parallel(state, parallel, seen),
            Kind::Map(map) => self.map(state, map, seen),
            Kind::Fail(fail) => {
                self.select(state, seen)?;
                let evaluation = self.evaluation(Extra::default());
                let failure = states::fail::failure(&evaluation, fail, &self.input())?;
                Ok(Came::Failed(RaisedFailure::named(failure)))
            }
            Kind::Choice(choice) => {
                self.select(state, seen)?;
                let evaluation = self.evaluation(Extra::default());
                let chosen = states::choice::choose(&evaluation, state, choice, &self.input())?;
                Ok(Came::Out(chosen.0, Some(chosen.1.name.clone())))
            }
            Kind::Wait(wait) => {
                let selected = self.select(state, seen)?;
                let evaluation = self.evaluation(Extra::default());
                // Nobody waits here, but it must be known until when.
                states::wait::until_ms(&evaluation, wait, &selected, self.request.now_ms)?;
                let finished = evaluation.pass_on(state, &self.input())?;
                Ok(Came::Out(finished, target(&wait.transition)))
            }
            Kind::Succeed => {
                self.select(state, seen)?;
                let evaluation = self.evaluation(Extra::default());
                Ok(Came::Out(evaluation.pass_on(state, &self.input())?, None))
            }
        }
    }

    fn pass(&self, state: &State, pass: &Pass, seen: &mut Inspection) -> Result<Came, Stop> {
        let (input, evaluation) = (self.input(), self.evaluation(Extra::default()));
        let next = target(&pass.transition);
        if let DataFlow::Jsonata(_) = &state.flow {
            return Ok(Came::Out(evaluation.pass_on(state, &input)?, next));
        }
        let result = if let Some(result) = &pass.result {
            let result = Payload::new(result.clone());
            seen.result = Some(result.clone());
            result
        } else {
            self.select(state, seen)?;
            let parameters = evaluation.effective_input(state, &input)?;
            seen.after_parameters = Some(parameters.clone());
            parameters
        };
        Ok(Came::Out(finish(&evaluation, state, &input, result, seen)?, next))
    }

    fn task(&self, state: &State, task: &Task, seen: &mut Inspection) -> Result<Came, Stop> {
        let input = self.input();
        self.select(state, seen)?;
        let attempt = has_token(state).then_some(Attempt { frame: FRAME, number: 0 });
        let evaluation = self.evaluation(Extra { task: attempt, ..Extra::default() });
        let bytes_max = self.request.limits.payload_bytes;
        let call = states::task::call(&evaluation, state, task, &input, bytes_max)?;
        match state.query_language {
            QueryLanguage::JsonPath => seen.after_parameters = Some(call.parameters.clone()),
            QueryLanguage::Jsonata => seen.after_arguments = Some(call.parameters.clone()),
        }
        let result = match self.mocked().or_else(|| self.request.answer.clone()) {
            Some(Ok(result)) => result,
            Some(Err(failure)) => {
                let dialect = self.request.dialect;
                return Ok(Came::Failed(RaisedFailure::of_task(failure, &task.resource, dialect)));
            }
            None => {
                let resource = task.resource.clone();
                let (parameters, credentials) = (call.parameters, call.credentials);
                return Ok(Came::Calls(Call { resource, parameters, credentials }));
            }
        };
        seen.result = Some(result.clone());
        let finished = finish(&evaluation, state, &input, result, seen)?;
        Ok(Came::Out(finished, target(&task.transition)))
    }

    fn parallel(
        &self,
        state: &State,
        parallel: &Parallel,
        seen: &mut Inspection,
    ) -> Result<Came, Stop> {
        let (input, evaluation) = (self.input(), self.evaluation(Extra::default()));
        // Not shown by the service, but it can fail.
        evaluation.effective_input(state, &input)?;
        match self.mocked() {
            Some(Err(failure)) => Ok(Came::Failed(RaisedFailure::named(failure))),
            Some(Ok(result)) => {
                let finished = finish(&evaluation, state, &input, result, seen)?;
                Ok(Came::Out(finished, target(&parallel.transition)))
            }
            None => Err(needs_mock().into()),
        }
    }

    fn map(&self, state: &State, map: &Map, seen: &mut Inspection) -> Result<Came, Stop> {
        let (input, evaluation) = (self.input(), self.evaluation(Extra::default()));
        let selected = self.select(state, seen)?;
        let items = self.items(&evaluation, state, map, &selected, seen)?;
        self.iterations(&evaluation, state, map, &items, seen)?;
        seen.max_concurrency = Some(states::map::max_concurrency(&evaluation, map, &selected)?);
        let tolerated = states::map::tolerated(&evaluation, map, &selected)?;
        seen.tolerated_failure_count = tolerated.count;
        seen.tolerated_failure_percentage = tolerated.percentage;
        let failures = self.request.configuration.map_iteration_failure_count.unwrap_or(0);
        match self.mocked() {
            Some(Err(failure)) => Ok(Came::Failed(RaisedFailure::named(failure))),
            Some(Ok(_))
                if map.has_tolerance() && u64::from(failures) > tolerated.failures(items.len()) =>
            {
                Ok(Came::Failed(RaisedFailure::named(crate::map_run::too_many_failures())))
            }
            Some(Ok(result)) => {
                let finished = finish(&evaluation, state, &input, result, seen)?;
                Ok(Came::Out(finished, target(&map.transition)))
            }
            None => Err(needs_mock().into()),
        }
    }

    fn items(
        &self,
        evaluation: &Evaluation<'_>,
        state: &State,
        map: &Map,
        selected: &Payload,
        seen: &mut Inspection,
    ) -> Result<Vec<Value>, Stop> {
        let configuration = &self.request.configuration;
        let items = match (&map.item_reader, &configuration.map_item_reader_data) {
            (None, _) => {
                let items = states::map::items(evaluation, state, map, selected)?;
                if state.query_language == QueryLanguage::JsonPath {
                    seen.after_items_path = Some(items.clone());
                }
                items.as_array().cloned().unwrap_or_default()
            }
            (Some(_), None) => return Ok(Vec::new()),
            (Some(reader), Some(text)) => {
                if let Some(arguments) = &reader.arguments {
                    evaluation.payload(arguments, "ItemReader/Arguments", selected)?;
                }
                let mut read = items::read(reader, text)?;
                seen.after_items_pointer = read.after_pointer;
                let max = reader.config.max_items.as_ref();
                let max = states::settings::count(evaluation, max, "MaxItems", selected)?;
                let max = max.filter(|max| *max > 0).and_then(|max| usize::try_from(max).ok());
                read.items.truncate(max.unwrap_or(usize::MAX));
                read.items
            }
        };
        let failures = configuration.map_iteration_failure_count.unwrap_or(0);
        if failures as usize > items.len() {
            return Err(Stop::Refused(RequestError::invalid(format!(
                "mapIterationFailureCount is {failures}, and the Map state has {} items",
                items.len()
            ))));
        }
        Ok(items)
    }

    /// What each iteration or each batch would be given.
    fn iterations(
        &self,
        evaluation: &Evaluation<'_>,
        state: &State,
        map: &Map,
        items: &[Value],
        seen: &mut Inspection,
    ) -> Result<(), Stop> {
        let mut inputs = items.to_vec();
        if let Some(selector) = &map.item_selector {
            for (index, item) in items.iter().enumerate() {
                let extra = Extra { item: Some((index, item)), task: None };
                let evaluation = self.evaluation(extra);
                let selected =
                    states::map::item_input(&evaluation, state, selector, &self.input())?;
                inputs[index] = selected.into_value();
            }
            seen.after_item_selector = Some(Payload::new(Value::Array(inputs.clone())));
        }
        if let Some(batcher) = &map.item_batcher {
            let batches = states::map::batched(evaluation, state, batcher, &self.input(), inputs)?;
            seen.after_item_batcher = Some(Payload::new(Value::Array(batches)));
        }
        Ok(())
    }

    fn input(&self) -> Payload {
        self.execution.input.clone()
    }

    /// The input after `InputPath`.
    fn select(&self, state: &State, seen: &mut Inspection) -> Result<Payload, Fault> {
        let evaluation = self.evaluation(Extra::default());
        let selected = evaluation.selected_input(state, &self.input())?;
        if state.query_language == QueryLanguage::JsonPath {
            seen.after_input_path = Some(selected.clone());
        }
        Ok(selected)
    }

    fn evaluation(&self, extra: Extra<'_>) -> Evaluation<'_> {
        let context = match &self.context {
            Some(given) => {
                let mut context = given.clone();
                if let Some((index, value)) = extra.item {
                    context["Map"] = json!({ "Item": { "Index": index, "Value": value } });
                }
                context
            }
            None => self.own_context(extra),
        };
        Evaluation {
            execution: &self.execution,
            frame: FRAME,
            entropy: &self.entropy,
            context: Cow::Owned(context),
        }
    }

    /// The service knows no state by its own name here, and a role only if it is given one.
    fn own_context(&self, extra: Extra<'_>) -> Value {
        let mut context = self.execution.context(FRAME, extra);
        context["State"]["Name"] = json!(LONE_NAME);
        if self.request.identity.role_arn.is_empty() {
            context["Execution"]["RoleArn"] = Value::Null;
        }
        context
    }

    fn mocked(&self) -> Option<Result<Payload, Failure>> {
        let mock = self.request.mock.as_ref()?;
        if let Some(MockError { error, cause }) = &mock.error_output {
            let text = |text: &Option<String>| text.as_deref().map(Arc::from);
            return Some(Err(Failure { error: text(error), cause: text(cause) }));
        }
        mock.result.as_deref().and_then(|text| Payload::from_text(text).ok()).map(Ok)
    }

    fn leave(
        &self,
        state: &State,
        finished: Finished,
        next: Option<Arc<str>>,
        seen: &mut Inspection,
    ) -> Response {
        if finished.output.exceeds(self.request.limits.payload_bytes) {
            let fault = Fault::TooLarge { what: state.name.to_string() };
            return self.fault(state, fault, seen);
        }
        seen.variables = self.variables(&finished.assigned);
        Response {
            status: TestStatus::Succeeded,
            output: Some(finished.output),
            failure: Failure::default(),
            next_state: next,
            inspection: None,
            unchecked: None,
        }
    }

    /// All variables there are when the state is left.
    fn variables(&self, assigned: &[(Arc<str>, Payload)]) -> Option<Payload> {
        let given = self.execution.frame(FRAME).map_or(&[][..], |frame| &frame.variables);
        let all: serde_json::Map<String, Value> = given
            .iter()
            .chain(assigned)
            .map(|(name, value)| (name.to_string(), value.value().clone()))
            .collect();
        (!all.is_empty()).then(|| Payload::new(Value::Object(all)))
    }

    fn fault(&self, state: &State, fault: Fault, seen: &mut Inspection) -> Response {
        let origin = fault.origin(&state.kind);
        self.fail(state, &RaisedFailure::new(self.failure(fault), origin), seen)
    }

    /// There is no history here whose events a cause could refer to.
    fn failure(&self, fault: Fault) -> Failure {
        let (error, message) = fault.name_and_message(self.request.dialect);
        Failure::new(error, message)
    }

    fn fail(&self, state: &State, raised: &RaisedFailure, seen: &mut Inspection) -> Response {
        let so_far = self.request.configuration.retrier_retry_count;
        let decision = handling::decide(state, raised.raised(), self.request.dialect, |_| so_far);
        seen.error_details = error_details(&decision);
        seen.variables = self.variables(&[]);
        let failure = raised.failure.clone();
        let catcher = match decision {
            Decision::Retry { .. } => return ended(TestStatus::Retriable, failure),
            Decision::Catch { catcher, .. } => catcher.handler,
            Decision::Fail { .. } => return ended(TestStatus::Failed, failure),
        };
        let evaluation = self.evaluation(Extra::default());
        match evaluation.caught(state, catcher, raised, &self.input()) {
            Ok(finished) => {
                let left = self.leave(state, finished, Some(catcher.next.name.clone()), seen);
                match left.status {
                    TestStatus::Succeeded => {
                        Response { status: TestStatus::CaughtError, failure, ..left }
                    }
                    _ => left,
                }
            }
            // Nothing catches the failure of a catcher.
            Err(fault) => ended(TestStatus::Failed, self.failure(fault)),
        }
    }
}

/// Which retrier and catcher matched, if any did.
fn error_details(decision: &Decision<'_>) -> Option<ErrorDetails> {
    let (retrier, catcher, interval) = match decision {
        Decision::Retry { retrier, so_far } => {
            let seconds = retrier.handler.delay_seconds((*so_far).into());
            (Some(retrier), None, Some(whole_seconds(seconds)))
        }
        Decision::Catch { used_up, catcher } => (used_up.as_ref(), Some(catcher), None),
        Decision::Fail { used_up } => (used_up.as_ref(), None, None),
    };
    let details = ErrorDetails {
        retry_index: retrier.map(|retrier| retrier.index),
        catch_index: catcher.map(|catcher| catcher.index),
        retry_backoff_interval_seconds: interval,
    };
    (details != ErrorDetails::default()).then_some(details)
}

fn ended(status: TestStatus, failure: Failure) -> Response {
    Response { status, output: None, failure, next_state: None, inspection: None, unchecked: None }
}

fn finish(
    evaluation: &Evaluation<'_>,
    state: &State,
    input: &Payload,
    result: Payload,
    seen: &mut Inspection,
) -> Result<Finished, Fault> {
    evaluation.finish_seen(state, input, result, |stage, data| {
        let place = match stage {
            Stage::AfterResultSelector => &mut seen.after_result_selector,
            Stage::AfterResultPath => &mut seen.after_result_path,
        };
        *place = Some(data.clone());
    })
}

fn target(transition: &Transition) -> Option<Arc<str>> {
    match transition {
        Transition::Next(target) => Some(target.name.clone()),
        Transition::End => None,
    }
}

fn needs_mock() -> RequestError {
    RequestError::invalid("a Map or Parallel state can only be tested with a mock")
}

// Saturates, and delays are not negative.
fn whole_seconds(seconds: f64) -> u64 {
    seconds.round() as u64
}
