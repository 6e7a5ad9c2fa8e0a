//! Each child of a Map Run is one execution, under one name for ever: whatever crashes, no other is started for it,
//! and one that succeeded is not run again while it is kept.

use everstep_interpreter::Status;

use super::{Checker, Verdict, ensure};
use crate::evidence::Evidence;

pub(super) struct Check;

impl Checker for Check {
    fn name(&self) -> &'static str {
        "children_have_one_name"
    }

    fn quiet(&self, evidence: &Evidence) -> Verdict {
        for ((parent, ..), run) in &evidence.drivers.runs {
            for (index, ids) in run.started.iter().filter(|_| !run.express) {
                ensure(ids.len() == 1, *parent, || {
                    format!("child {index} was started as {} executions", ids.len())
                })?;
                let mut lives = ids.iter().flat_map(|id| evidence.ledger.of(*id)).peekable();
                while let Some(life) = lives.next() {
                    let done = matches!(life.execution.status(), Status::Succeeded { .. });
                    let again = lives.peek().is_some();
                    ensure(!again || !done || life.gone.is_some(), life.id, || {
                        format!("child {index} has succeeded, and runs again")
                    })?;
                }
            }
        }
        Ok(())
    }
}
