//! Wait states.

use everstep_asl::model::{Kind, Operand, State, Wait, WaitUntil};
use everstep_expr::timestamp;
use everstep_history::{Event, FrameId};
use serde_json::Value;

use crate::context::Extra;
use crate::decide::Decider;
use crate::execution::later;
use crate::fault::{Fault, unexpected_type};
use crate::flow::{Evaluation, Place};

/// "Wait state delay is too long": the service's limit.
const SECONDS_MAX: f64 = 99_999_999.0;

pub(crate) fn run(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    wait: &Wait,
) -> Result<(), Fault> {
    let input = decider.input(id);
    let evaluation = decider.evaluation(id, Extra::default());
    let selected = evaluation.selected_input(state, &input)?;
    let now_ms = decider.now_ms;
    let wait_ms = until_ms(&evaluation, wait, &selected, now_ms)?.saturating_sub(now_ms);
    let until_ms = now_ms.saturating_add(decider.execution.program.limits.scaled(wait_ms));
    if until_ms <= decider.now_ms {
        return leave(decider, id);
    }
    decider.emit(Event::WaitStarted { frame: id, at_ms: decider.now_ms, until_ms });
    Ok(())
}

/// When its time will have come.
pub(crate) fn until_ms(
    evaluation: &Evaluation<'_>,
    wait: &Wait,
    selected: &Value,
    now_ms: i64,
) -> Result<i64, Fault> {
    let until_ms = match &wait.until {
        WaitUntil::Seconds(operand) => later(now_ms, seconds(evaluation, operand, selected)?),
        WaitUntil::Timestamp(operand) => moment(evaluation, operand, selected)?,
    };
    if until_ms.saturating_sub(now_ms) as f64 > SECONDS_MAX * 1000.0 {
        return Err(Fault::Runtime("Wait state delay is too long.".to_owned()));
    }
    Ok(until_ms)
}

/// The time has come.
pub(crate) fn over(decider: &mut Decider<'_>, id: FrameId) {
    if let Err(fault) = leave(decider, id) {
        decider.fault(id, fault);
    }
}

fn leave(decider: &mut Decider<'_>, id: FrameId) -> Result<(), Fault> {
    let Some((machine, position)) = decider.place(id) else { return Ok(()) };
    let state = &machine.states[position as usize];
    let Kind::Wait(wait) = &state.kind else { return Ok(()) };
    let finished = decider.evaluation(id, Extra::default()).pass_on(state, &decider.input(id))?;
    decider.exit(id, finished, &wait.transition)
}

fn seconds(
    evaluation: &Evaluation<'_>,
    operand: &Operand<u64>,
    input: &Value,
) -> Result<u64, Fault> {
    if let Operand::Path(path) = operand {
        let Ok(value) = path.evaluate(&evaluation.scope(input)) else {
            return Err(Fault::Runtime(format!(
                "The SecondsPath parameter does not reference an input value: {path}"
            )));
        };
        return match value.as_i64() {
            Some(seconds) if seconds >= 0 => Ok(seconds.unsigned_abs()),
            Some(_) => Err(Fault::Runtime(format!(
                "The SecondsPath parameter references a negative value: {path} == {value}"
            ))),
            None => Err(Fault::Runtime(format!(
                "The SecondsPath parameter cannot be parsed as a long value: {path} == {value}"
            ))),
        };
    }
    evaluation.operand(operand, "Seconds", input, |value, place| match value.as_f64() {
        Some(seconds) if seconds >= 0.0 && seconds.fract() == 0.0 => {
            // Checked above.
            Ok(seconds as u64)
        }
        _ => Err(wrong(place, "number", value)),
    })
}

fn wrong(place: Place<'_>, expected: &str, value: &Value) -> Fault {
    match place {
        Place::Jsonata { field, expression } => unexpected_type(field, expression, expected, value),
        Place::Path { field, path } => {
            Fault::Runtime(format!("The {field} field refers to value {value}: {path}"))
        }
    }
}

fn moment(
    evaluation: &Evaluation<'_>,
    operand: &Operand<timestamp::Timestamp>,
    input: &Value,
) -> Result<i64, Fault> {
    let found = match operand {
        Operand::Literal(moment) => return Ok(moment.to_millis()),
        Operand::Path(path) => {
            let Ok(value) = path.evaluate(&evaluation.scope(input)) else {
                return Err(Fault::Runtime(format!(
                    "The TimestampPath parameter does not reference an input value: {path}"
                )));
            };
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            return timestamp::parse(&text).map(timestamp::Timestamp::to_millis).map_err(|_| {
                Fault::Runtime(format!(
                    "The TimestampPath parameter does not reference a valid ISO-8601 extended offset \
                     date-time format string: {path} == {text}"
                ))
            });
        }
        Operand::Jsonata(expression) => evaluation.expression(expression, "Timestamp", input)?,
    };
    let text = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
    timestamp::parse(&text).map(timestamp::Timestamp::to_millis).map_err(|_| Fault::Query {
        location: Some("Timestamp".to_owned()),
        message: format!(
            "The Timestamp field cannot be parsed as an ISO-8601 extended offset date-time format \
             string: {text}"
        ),
    })
}
