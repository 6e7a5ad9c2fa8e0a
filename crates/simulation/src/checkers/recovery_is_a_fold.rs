//! What was written down gives back what was in memory: every execution in memory is the fold of its steps,
//! the fold of its steps is the same each time, steps follow each other without a gap, every shard can be
//! opened, and the AWS history of any prefix has contiguous ids.

use everstep_interpreter::{Event, Execution, aws_history};
use everstep_shards::Outside;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;
use crate::ledger::Life;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "recovery_is_a_fold"
    }

    fn life(&self, _: &Evidence, life: &Life) -> Verdict {
        let (program, identity) = (life.execution.program(), life.execution.identity());
        let mut again = Execution::new(program.clone(), identity.clone());
        let events: Vec<Event> = life.events().cloned().collect();
        events.iter().for_each(|event| again.apply(event));
        ensure(again == life.execution, life.id, || "two folds differ".to_owned())?;
        let history = aws_history::project(program, identity, &events);
        for (id, event) in (1..).zip(&history) {
            let previous = event["previousEventId"].as_u64();
            ensure(
                event["id"] == id && previous.is_some_and(|previous| previous < id),
                life.id,
                || format!("event {id} of the AWS history: {event}"),
            )?;
        }
        Ok(())
    }

    fn before_crash(&self, evidence: &Evidence) -> Verdict {
        same_in_memory(evidence)
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        same_in_memory(evidence)
    }
}

fn same_in_memory(evidence: &Evidence) -> Verdict {
    if evidence.runtime.failure().is_some() {
        // It may have decided what it could not write, and gives up all of it.
        return Ok(());
    }
    for life in evidence.ledger.present() {
        let shard = &evidence.shards[usize::from(life.id.shard(evidence.shard_count).0)];
        let same = shard.in_memory(life.id).is_none_or(|execution| *execution == life.execution);
        ensure(same, life.id, || "what is in memory is not the fold of its steps".to_owned())?;
    }
    Ok(())
}
