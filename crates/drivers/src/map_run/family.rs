//! How the children of a Map Run are named and started.

use std::sync::Arc;

use everstep_asl::model::{Kind, Map, State};
use everstep_executions::{ExecutionId, ListId, Prepared, Start, request_id};
use everstep_history::Payload;
use everstep_interpreter::MapRun;
use serde_json::Value;

/// The label of a child: the ARN of its Map Run.
pub const MAP_RUN: &str = "mapRun";
/// The label that says how many items a child processes.
pub const ITEMS: &str = "items";

/// What all children of a run share.
pub struct Family {
    pub run_arn: String,
    /// When the parent was started: of two executions that have had the same name, each has children of its own.
    pub parent_started_ms: i64,
    pub prepared: Arc<Prepared>,
    /// The labels that children take over from their parent.
    pub labels: Vec<(String, String)>,
    pub redrives: u32,
}

impl Family {
    /// The name of a child: the same each time.
    fn name(&self, index: u32) -> String {
        request_id(&format!("{}/{}/{index}", self.run_arn, self.parent_started_ms))
    }

    #[must_use]
    pub fn id(&self, index: u32) -> ExecutionId {
        ExecutionId::of(&self.arn(index))
    }

    #[must_use]
    pub fn is_express(&self) -> bool {
        self.prepared.revision.express
    }

    /// The ARN of a child. A redrive starts an EXPRESS child as another execution.
    #[must_use]
    pub fn arn(&self, index: u32) -> String {
        let (revision, name) = (&self.prepared.revision, self.name(index));
        let of = |kind| revision.machine_arn.replacen(":stateMachine:", kind, 1);
        if revision.express {
            let again = request_id(&format!("{name}/{}", self.redrives));
            format!("{}:{name}:{again}", of(":express:"))
        } else {
            format!("{}:{name}", of(":execution:"))
        }
    }

    /// The child of this index of a plan's inputs.
    #[must_use]
    pub fn start(&self, index: u32, inputs: &Payload, items: u64) -> Start {
        let input = inputs.get(index as usize).cloned().unwrap_or(Value::Null);
        let mut start = Start::new(&self.arn(index), self.prepared.clone(), Payload::new(input));
        start.lists = vec![ListId::of(&self.run_arn)];
        start.labels.clone_from(&self.labels);
        start.labels.push((MAP_RUN.to_owned(), self.run_arn.clone()));
        start.labels.push((ITEMS.to_owned(), items.to_string()));
        start
    }
}

/// The Map state of this name.
#[must_use]
pub fn map_state<'p>(
    machine: &'p everstep_asl::Machine,
    name: &str,
) -> Option<(&'p State, &'p Map)> {
    let mut found = None;
    machine.each_state(&mut |state, _, _| {
        if let Kind::Map(map) = &state.kind
            && *state.name == *name
        {
            found = Some((state, &**map));
        }
    });
    found
}

/// How many items each child processes: a batch has its items in `Items`.
#[must_use]
pub fn item_counts(plan: &MapRun, map: &Map) -> Vec<u64> {
    let items = |input: &Value| match map.item_batcher {
        Some(_) => input["Items"].as_array().map_or(0, Vec::len) as u64,
        None => 1,
    };
    plan.inputs.as_array().into_iter().flatten().map(items).collect()
}
