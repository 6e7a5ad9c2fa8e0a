//! Succeed states.

use everstep_asl::model::{State, Transition};
use everstep_history::FrameId;

use crate::context::Extra;
use crate::decide::Decider;
use crate::fault::Fault;

pub(crate) fn run(decider: &mut Decider<'_>, id: FrameId, state: &State) -> Result<(), Fault> {
    let finished = decider.evaluation(id, Extra::default()).pass_on(state, &decider.input(id))?;
    decider.exit(id, finished, &Transition::End)
}
