//! Parallel states.

use everstep_asl::model::{Kind, Parallel, State};
use everstep_history::{Event, FrameId, Payload};

use crate::context::Extra;
use crate::decide::Decider;
use crate::execution::Phase;
use crate::fault::Fault;

pub(crate) fn run(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    parallel: &Parallel,
) -> Result<(), Fault> {
    // Run again by a redrive: what has not ended continues.
    if matches!(decider.execution.frame(id).map(|frame| &frame.phase), Some(Phase::Parallel { .. }))
    {
        return Ok(());
    }
    let input = decider.input(id);
    let input = decider.evaluation(id, Extra::default()).effective_input(state, &input)?;
    if input.exceeds(decider.execution.program.limits.payload_bytes) {
        return Err(decider.too_large(id));
    }
    let first = decider.execution.next_frame();
    let branches = u32::try_from(parallel.branches.len()).unwrap_or(u32::MAX);
    decider.emit(Event::ParallelStarted {
        frame: id,
        at_ms: decider.now_ms,
        first,
        branches,
        input,
    });
    if !decider.is_full() {
        (first.0..first.0 + branches).for_each(|child| decider.wake(FrameId(child)));
    }
    Ok(())
}

/// A branch has ended: if it was the last one, the state is done.
pub(crate) fn branch_ended(decider: &mut Decider<'_>, id: FrameId) {
    if decider.holds_too_much()
        && matches!(
            decider.execution.frame(id).map(|frame| &frame.phase),
            Some(Phase::Parallel { .. })
        )
    {
        let fault = decider.too_large(id);
        return decider.fault(id, fault);
    }
    let Some(Phase::Parallel { results, remaining: 0, .. }) =
        decider.execution.frame(id).map(|frame| &frame.phase)
    else {
        return;
    };
    let outputs: Vec<Payload> = results.iter().flatten().cloned().collect();
    let Some((machine, position)) = decider.place(id) else { return };
    let state = &machine.states[position as usize];
    let Kind::Parallel(parallel) = &state.kind else { return };
    decider.emit(Event::ParallelSucceeded { frame: id, at_ms: decider.now_ms });
    let input = decider.input(id);
    let result = Payload::array(&outputs);
    let finished = decider.evaluation(id, Extra::default()).finish(state, &input, result);
    match finished.and_then(|finished| decider.exit(id, finished, &parallel.transition)) {
        Ok(()) => decider.wake(id),
        Err(fault) => decider.fault(id, fault),
    }
}
