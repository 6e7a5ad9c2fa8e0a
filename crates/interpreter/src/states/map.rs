//! Map states: iterations inside the execution, or child executions in the world.

use everstep_asl::handling::Origin;
use everstep_asl::model::{
    ItemBatcher, Items, Kind, Map, Mode, Payload as Template, QueryLanguage, State,
};
use everstep_history::{Attempt, Event, Failure, FrameId, Payload};
use serde_json::{Value, json};

use super::settings;
use crate::context::Extra;
use crate::decide::Decider;
use crate::execution::{Execution, MapPhase, Phase};
use crate::fault::{Fault, not_too_deep, unexpected_type};
use crate::flow::{Evaluation, More};
use crate::map_run::{Tolerance, too_many_failures};
use crate::raised::RaisedFailure;

pub(crate) fn run(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    map: &Map,
) -> Result<(), Fault> {
    if map.item_reader.is_some() {
        return Err(Fault::Runtime(
            "ItemReader is not supported yet: give the items by ItemsPath".to_owned(),
        ));
    }
    if map.result_writer.is_some() {
        return Err(Fault::Runtime(
            "ResultWriter is not supported yet: the results are the state's output".to_owned(),
        ));
    }
    let input = decider.input(id);
    let evaluation = decider.evaluation(id, Extra::default());
    let selected = evaluation.selected_input(state, &input)?;
    let max_concurrency = max_concurrency(&evaluation, map, &selected)?;
    let items = items(&evaluation, state, map, &selected)?;
    if items.weight() > decider.execution.program.limits.list_bytes {
        return Err(decider.too_large(id));
    }
    let distributed = map.mode != Mode::Inline;
    decider.emit(Event::MapStarted {
        frame: id,
        at_ms: decider.now_ms,
        items,
        max_concurrency: u32::try_from(max_concurrency).unwrap_or(u32::MAX),

        distributed,
    });
    let tolerance = tolerated(&decider.evaluation(id, Extra::default()), map, &selected)?;
    if distributed {
        return start_run(decider, id, state, map, tolerance);
    }
    fill(decider, id, None)
}

pub(crate) fn tolerated(
    evaluation: &Evaluation<'_>,
    map: &Map,
    input: &Value,
) -> Result<Tolerance, Fault> {
    let count = map.tolerated_failure_count.as_ref();
    Ok(Tolerance {
        count: settings::count(evaluation, count, "ToleratedFailureCount", input)?,
        percentage: settings::percentage(
            evaluation,
            map.tolerated_failure_percentage.as_ref(),
            input,
        )?,
    })
}

pub(crate) fn max_concurrency(
    evaluation: &Evaluation<'_>,
    map: &Map,
    input: &Value,
) -> Result<u64, Fault> {
    let found = settings::count(evaluation, map.max_concurrency.as_ref(), "MaxConcurrency", input)?;
    Ok(found.unwrap_or(0))
}

pub(crate) fn items(
    evaluation: &Evaluation<'_>,
    state: &State,
    map: &Map,
    selected: &Payload,
) -> Result<Payload, Fault> {
    let found = match &map.items {
        Items::Whole => selected.clone(),
        Items::Path(path) => {
            let found = path.evaluate(&evaluation.scope(selected)).map_err(Fault::Path)?;
            Payload::new(found.into_owned())
        }
        Items::Jsonata(template) => {
            let found = evaluation.jsonata(template, "Items", selected, More::Nothing)?;
            not_too_deep(found.into())?
        }
    };
    if found.is_array() {
        return Ok(found);
    }
    Err(match (&map.items, state.query_language) {
        (Items::Jsonata(template), _) => {
            let mut text = String::new();
            template.expressions(&mut |expression| expression.as_str().clone_into(&mut text));
            unexpected_type("Items", &text, "array", &found)
        }
        (_, QueryLanguage::Jsonata) => Fault::Query {
            location: None,
            message: format!("Map state input must be an array but was: {}", found.value()),
        },
        (Items::Path(path), _) => {
            // The service shows a path into the context object without its second `$`.
            let path = path.as_str();
            let path = path.strip_prefix('$').filter(|rest| rest.starts_with('$')).unwrap_or(path);
            Fault::Runtime(format!("Reference path \"{path}\" must point to array."))
        }
        _ => Fault::Runtime("Reference path \"$\" must point to array.".to_owned()),
    })
}

/// The input of one iteration; the evaluation's context knows its item.
pub(crate) fn item_input(
    evaluation: &Evaluation<'_>,
    state: &State,
    selector: &Template,
    input: &Payload,
) -> Result<Payload, Fault> {
    let selected = evaluation.selected_input(state, input)?;
    not_too_deep(evaluation.payload(selector, "ItemSelector", &selected)?.into())
}

fn select(
    decider: &Decider<'_>,
    id: FrameId,
    state: &State,
    map: &Map,
    index: usize,
    item: &Value,
) -> Result<Payload, Fault> {
    let Some(selector) = &map.item_selector else { return Ok(Payload::new(item.clone())) };
    let extra = Extra { item: Some((index, item)), task: None };
    item_input(&decider.evaluation(id, extra), state, selector, &decider.input(id))
}

fn phase<'d>(decider: &'d Decider<'_>, id: FrameId) -> Option<&'d MapPhase> {
    match &decider.execution.frame(id)?.phase {
        Phase::Map(map) => Some(map),
        _ => None,
    }
}

/// Starts as many iterations as there is room for; ends the Map when none is left.
fn fill(decider: &mut Decider<'_>, id: FrameId, after: Option<FrameId>) -> Result<(), Fault> {
    let Some((machine, position)) = decider.place(id) else { return Ok(()) };
    let state = &machine.states[position as usize];
    let Kind::Map(map) = &state.kind else { return Ok(()) };
    let mut is_first = true;
    loop {
        let Some(progress) = phase(decider, id) else { return Ok(()) };
        let has_room = decider.execution.has_room_in(progress) && !decider.is_full();
        if has_room && !is_first && decider.is_turn_over() {
            decider.wake_stopped(id);
            return Ok(());
        }
        is_first = false;
        let index = progress.next as usize;
        if let Some(child) = progress.paused.first().copied() {
            if !has_room {
                return Ok(());
            }
            continue_iteration(decider, id, child);
            continue;
        }
        if index >= progress.results.len() {
            if progress.running.is_empty() {
                return finish(decider, id, state, map);
            }
            return Ok(());
        }
        if !has_room {
            return Ok(());
        }
        let items = progress.items.clone();
        decider.entropy.effort().begin();
        let input = select(decider, id, state, map, index, &items[index])?;
        if input.exceeds(decider.execution.program.limits.payload_bytes) {
            return Err(decider.too_large(id));
        }
        let child = decider.execution.next_frame();
        decider.emit(Event::IterationStarted {
            frame: id,
            at_ms: decider.now_ms,
            index: u32::try_from(index).unwrap_or(u32::MAX),
            child,
            input,
            after,
        });
        decider.wake(child);
    }
}

impl Execution {
    /// Whether a Map has iterations to start, or none left at all.
    pub(crate) fn can_fill(&self, map: &MapPhase) -> bool {
        if map.paused.is_empty() && map.next as usize >= map.results.len() {
            return map.running.is_empty();
        }
        self.has_room_in(map)
    }

    /// Whether another iteration of a Map may run. One that finds much data there waits for others to end.
    fn has_room_in(&self, map: &MapPhase) -> bool {
        let limits = &self.program.limits;
        let limit = match map.max_concurrency {
            0 => self.program.dialect.unlimited_concurrency(limits.inline_concurrency),
            set => set,
        };
        let is_crowded = self.held_bytes() > limits.held_bytes / 2;
        map.running.len() < limit as usize && (map.running.is_empty() || !is_crowded)
    }
}

/// Continues the iterations that a redrive takes up, and starts those that were not started.
pub(crate) fn continue_iterations(decider: &mut Decider<'_>, id: FrameId) {
    if let Err(fault) = fill(decider, id, None) {
        decider.fault(id, fault);
    }
}

fn continue_iteration(decider: &mut Decider<'_>, id: FrameId, child: FrameId) {
    let Some(frame) = decider.execution.frame(child) else { return };
    let Some(parent) = frame.parent else { return };
    decider.emit(Event::IterationStarted {
        frame: id,
        at_ms: decider.now_ms,
        index: parent.index,
        child,
        input: frame.input.clone(),
        after: None,
    });
    decider.wake_stopped(child);
}

fn finish(decider: &mut Decider<'_>, id: FrameId, state: &State, map: &Map) -> Result<(), Fault> {
    let outputs = phase(decider, id).map(|progress| {
        progress.results.iter().flatten().map(|output| output.value().clone()).collect::<Vec<_>>()
    });
    decider.emit(Event::MapSucceeded { frame: id, at_ms: decider.now_ms });
    pass_on(decider, id, state, map, Value::Array(outputs.unwrap_or_default()))
}

fn pass_on(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    map: &Map,
    result: Value,
) -> Result<(), Fault> {
    let input = decider.input(id);
    let finished =
        decider.evaluation(id, Extra::default()).finish(state, &input, Payload::new(result))?;
    decider.exit(id, finished, &map.transition)?;
    decider.wake(id);
    Ok(())
}

/// An iteration has come to its end.
pub(crate) fn iteration_ended(decider: &mut Decider<'_>, child: FrameId, id: FrameId) {
    decider.emit(Event::IterationSucceeded { child, at_ms: decider.now_ms });
    if decider.holds_too_much() {
        let fault = decider.too_large(id);
        return decider.fault(id, fault);
    }
    if let Err(fault) = fill(decider, id, Some(child)) {
        decider.fault(id, fault);
    }
}

/// An iteration has failed: tolerated, or the Map fails with it.
pub(crate) fn iteration_failed(
    decider: &mut Decider<'_>,
    child: FrameId,
    id: FrameId,
    raised: RaisedFailure,
) {
    let at_ms = decider.now_ms;
    decider.emit(Event::IterationFailed { child, at_ms, failure: raised.failure.clone() });
    let Some(progress) = phase(decider, id) else { return };
    let (failures, items) = (progress.failed.len(), progress.results.len());
    if failures as u64 <= tolerated_failures(decider, id, items) && !raised.is_fatal() {
        if let Err(fault) = fill(decider, id, Some(child)) {
            decider.fault(id, fault);
        }
        return;
    }
    let raised = if sets_tolerance(decider, id) && !raised.is_fatal() {
        RaisedFailure::named(too_many_failures())
    } else {
        raised
    };
    decider.fail(id, raised);
}

/// How many of so many items may fail. What it is read from does not change while the Map runs.
fn tolerated_failures(decider: &Decider<'_>, id: FrameId, items: usize) -> u64 {
    let Some(state) = decider.execution.state_of(id) else { return 0 };
    let Kind::Map(map) = &state.kind else { return 0 };
    let evaluation = decider.evaluation(id, Extra::default());
    let selected = evaluation.selected_input(state, &decider.input(id));
    selected
        .and_then(|selected| tolerated(&evaluation, map, &selected))
        .map_or(0, |found| found.failures(items))
}

fn sets_tolerance(decider: &Decider<'_>, id: FrameId) -> bool {
    decider.execution.state_of(id).is_some_and(|state| match &state.kind {
        Kind::Map(map) => map.has_tolerance(),
        _ => false,
    })
}

/// A turn ended, or the engine did, before all inputs of the children were selected.
pub(crate) fn continue_run(decider: &mut Decider<'_>, id: FrameId) {
    let Some((machine, position)) = decider.place(id) else { return };
    let state = &machine.states[position as usize];
    let Kind::Map(map) = &state.kind else { return };
    decider.entropy.effort().begin();
    let evaluation = decider.evaluation(id, Extra::default());
    let selected = evaluation.selected_input(state, &decider.input(id));
    let tolerance = selected.and_then(|selected| tolerated(&evaluation, map, &selected));
    let started = tolerance.and_then(|tolerance| start_run(decider, id, state, map, tolerance));
    if let Err(fault) = started {
        decider.fault(id, fault);
    }
}

/// About how many bytes of inputs are recorded together.
const SELECTED_BYTES_MAX: usize = 1 << 20;

/// Hands the items to child executions, batched if the definition says so: selects their inputs, as many as the
/// turn allows, and starts the Map Run when it has all.
fn start_run(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    map: &Map,
    tolerance: Tolerance,
) -> Result<(), Fault> {
    let Some(progress) = phase(decider, id) else { return Ok(()) };
    let (items, mut next) = (progress.items.clone(), progress.selected_count());
    let mut bytes_total: usize = progress.selected.iter().map(Payload::weight).sum();
    let (mut inputs, mut bytes) = (Vec::new(), 0);
    let limits = decider.execution.program.limits;
    while let Some(item) = items.get(next) {
        decider.entropy.effort().begin();
        let input = select(decider, id, state, map, next, item)?;
        (bytes, bytes_total) = (bytes + input.weight(), bytes_total + input.weight());
        if input.exceeds(limits.payload_bytes) || bytes_total > limits.list_bytes {
            return Err(decider.too_large(id));
        }
        inputs.push(input.into_value());
        next += 1;
        if bytes > SELECTED_BYTES_MAX || decider.is_spent() && next < items_length(&items) {
            record_selected(decider, id, std::mem::take(&mut inputs))?;
            bytes = 0;
            if decider.is_spent() {
                decider.wake_stopped(id);
                return Ok(());
            }
        }
    }
    let inputs = match &map.item_batcher {
        Some(batcher) => {
            let mut all = selected_before(decider, id);
            all.append(&mut inputs);
            let evaluation = decider.evaluation(id, Extra::default());
            batched(&evaluation, state, batcher, &decider.input(id), all)?
        }
        None => inputs,
    };
    let inputs = not_too_deep(Value::Array(inputs).into())?;
    let attempt = Attempt { frame: id, number: decider.execution.attempts };
    decider.emit(Event::MapRunStarted {
        frame: id,
        at_ms: decider.now_ms,
        attempt,
        inputs,
        tolerated_count: tolerance.count,
        tolerated_percentage: tolerance.percentage,
    });
    Ok(())
}

fn items_length(items: &Payload) -> usize {
    items.as_array().map_or(0, Vec::len)
}

fn record_selected(
    decider: &mut Decider<'_>,
    id: FrameId,
    inputs: Vec<Value>,
) -> Result<(), Fault> {
    let inputs = not_too_deep(Value::Array(inputs).into())?;
    decider.emit(Event::MapInputsSelected { frame: id, at_ms: decider.now_ms, inputs });
    Ok(())
}

fn selected_before(decider: &Decider<'_>, id: FrameId) -> Vec<Value> {
    let lists = phase(decider, id).map(|progress| progress.selected.as_slice()).unwrap_or_default();
    lists.iter().flat_map(|list| list.as_array().cloned().unwrap_or_default()).collect()
}

/// `ItemBatcher`: groups of at most so many items and bytes.
pub(crate) fn batched(
    evaluation: &Evaluation<'_>,
    state: &State,
    batcher: &ItemBatcher,
    input: &Payload,
    inputs: Vec<Value>,
) -> Result<Vec<Value>, Fault> {
    let selected = evaluation.selected_input(state, input)?;
    let limit = |operand, field| settings::count(evaluation, operand, field, &selected);
    let items_max = limit(batcher.max_items.as_ref(), "MaxItemsPerBatch")?.filter(|max| *max > 0);
    let bytes_max =
        limit(batcher.max_input_bytes.as_ref(), "MaxInputBytesPerBatch")?.filter(|max| *max > 0);
    let batch_input = match &batcher.batch_input {
        Some(payload) => Some(evaluation.payload(payload, "ItemBatcher/BatchInput", &selected)?),
        None => None,
    };
    let (mut batches, mut batch, mut bytes) = (Vec::new(), Vec::new(), 0u64);
    for input in inputs {
        let size = input.to_string().len() as u64 + 1;
        let full = items_max.is_some_and(|max| batch.len() as u64 >= max)
            || bytes_max.is_some_and(|max| bytes + size > max && !batch.is_empty());
        if full {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes += size;
        batch.push(input);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    let wrap = |items| match &batch_input {
        Some(common) => json!({ "BatchInput": common, "Items": Value::Array(items) }),
        None => json!({ "Items": Value::Array(items) }),
    };
    Ok(batches.into_iter().map(wrap).collect())
}

/// After a redrive: continues the Map Run that had been stopped or had failed.
pub(crate) fn redrive_run(decider: &mut Decider<'_>, id: FrameId) {
    let Some(stopped) = decider.execution.map_run(id) else { return };
    let (run, count) = (stopped.plan.run, stopped.plan.redrives + 1);
    let attempt = Attempt { frame: id, number: decider.execution.attempts };
    decider.emit(Event::MapRunRedriven { frame: id, at_ms: decider.now_ms, attempt, run, count });
}

/// All children of a distributed Map are done, and no more have failed than may.
pub(crate) fn run_finished(
    decider: &mut Decider<'_>,
    id: FrameId,
    children: Vec<Result<Payload, Failure>>,
) {
    let Some((machine, position)) = decider.place(id) else { return };
    let state = &machine.states[position as usize];
    let Kind::Map(map) = &state.kind else { return };
    let bytes: usize = children.iter().flatten().map(Payload::weight).sum();
    if bytes > decider.execution.program.limits.list_bytes {
        let (name, cause) = decider.too_large(id).name_and_message(decider.dialect());
        let failure = Failure::new(name, cause);
        let (frame, at_ms) = (id, decider.now_ms);
        decider.emit(Event::MapRunFailed { frame, at_ms, failure: failure.clone() });
        return decider.fail(id, RaisedFailure::new(failure, Origin::OversizedResult));
    }
    let outputs: Vec<Value> = children.into_iter().flatten().map(Payload::into_value).collect();
    let output = Payload::new(Value::Array(outputs));
    decider.emit(Event::MapRunSucceeded {
        frame: id,
        at_ms: decider.now_ms,
        output: output.clone(),
    });
    decider.emit(Event::MapSucceeded { frame: id, at_ms: decider.now_ms });
    if let Err(fault) = pass_on(decider, id, state, map, output.into_value()) {
        decider.fault(id, fault);
    }
}

pub(crate) fn run_failed(decider: &mut Decider<'_>, id: FrameId, failure: Failure) {
    decider.emit(Event::MapRunFailed {
        frame: id,
        at_ms: decider.now_ms,
        failure: failure.clone(),
    });
    decider.fail(id, RaisedFailure::named(failure));
}
