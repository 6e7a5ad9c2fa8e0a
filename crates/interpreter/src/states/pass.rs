//! Pass states.

use everstep_asl::model::{DataFlow, Pass, State};
use everstep_history::{FrameId, Payload};

use crate::context::Extra;
use crate::decide::Decider;
use crate::fault::Fault;

pub(crate) fn run(
    decider: &mut Decider<'_>,
    id: FrameId,
    state: &State,
    pass: &Pass,
) -> Result<(), Fault> {
    let input = decider.input(id);
    let evaluation = decider.evaluation(id, Extra::default());
    let finished = match &state.flow {
        DataFlow::JsonPath(_) => {
            let effective = evaluation.effective_input(state, &input)?;
            let result = pass.result.clone().map_or(effective, Payload::new);
            evaluation.finish(state, &input, result)?
        }
        DataFlow::Jsonata(_) => evaluation.pass_on(state, &input)?,
    };
    decider.exit(id, finished, &pass.transition)
}
