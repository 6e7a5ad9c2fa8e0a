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
            // With a Result neither InputPath nor Parameters is looked at, as the service's
            // TestState shows.
            let result = match &pass.result {
                Some(result) => Payload::new(result.clone()),
                None => evaluation.effective_input(state, &input)?,
            };
            evaluation.finish(state, &input, result)?
        }
        DataFlow::Jsonata(_) => evaluation.pass_on(state, &input)?,
    };
    decider.exit(id, finished, &pass.transition)
}
