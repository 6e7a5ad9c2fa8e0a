//! The context object.

use everstep_asl::model::Kind;
use everstep_expr::timestamp;
use everstep_history::{Attempt, FrameId, Payload};
use serde_json::{Map, Value, json};

use crate::execution::Execution;

/// What the context object says beyond the execution and the state.
#[derive(Default, Clone, Copy)]
pub(crate) struct Extra<'a> {
    pub(crate) item: Option<(usize, &'a Value)>,
    /// The attempt of a task that has a token.
    pub(crate) task: Option<Attempt>,
}

impl Execution {
    /// The context object as an expression of this frame's state sees it.
    pub(crate) fn context(&self, id: FrameId, extra: Extra<'_>) -> Value {
        let identity = &self.identity;
        let mut execution = json!({ "Id": &*identity.execution_arn });
        // Copied only if it may be read: it can be large, and a Map has a context for each item.
        if self.state_of(id).is_none_or(|state| state.reads_execution_input) {
            execution["Input"] = self.input.value().clone();
        }
        execution["Name"] = json!(&*identity.execution_name);
        execution["RoleArn"] = json!(&*identity.role_arn);
        execution["StartTime"] = json!(timestamp::format_millis(self.started_ms));
        // EXPRESS workflows cannot be redriven: recorded contexts of them have no such field.
        if !identity.execution_arn.contains(":express:") {
            execution["RedriveCount"] = json!(self.redrives);
        }
        let mut context = Map::new();
        context.insert("Execution".to_owned(), execution);
        if let (Some(frame), Some(state)) = (self.frame(id), self.state_of(id)) {
            let mut entry = json!({
                "Name": &*state.name,
                "EnteredTime": timestamp::format_millis(frame.entered_ms),
            });
            if matches!(state.kind, Kind::Task(_) | Kind::Parallel(_) | Kind::Map(_)) {
                entry["RetryCount"] = json!(frame.retries.iter().sum::<u32>());
            }
            context.insert("State".to_owned(), entry);
        }
        let machine = json!({ "Id": &*identity.machine_arn, "Name": &*identity.machine_name });
        context.insert("StateMachine".to_owned(), machine);
        if let Some((index, value)) =
            extra.item.map(|(i, v)| (i, v.clone())).or_else(|| self.item_of(id))
        {
            context.insert("Map".to_owned(), json!({ "Item": { "Index": index, "Value": value } }));
        }
        if let Some(attempt) = extra.task {
            let token = identity.token_key.token(&identity.execution_arn, attempt);
            context.insert("Task".to_owned(), json!({ "Token": token }));
        }
        Value::Object(context)
    }

    /// The item of the iteration a frame is in.
    fn item_of(&self, id: FrameId) -> Option<(usize, Value)> {
        if !self.program.dialect.shows_item_to_children() {
            return None;
        }
        let mut frame = self.frame(id)?;
        loop {
            let parent = frame.parent?;
            let around = self.frame(parent.frame)?;
            if let crate::execution::Phase::Map(map) = &around.phase {
                let index = parent.index as usize;
                return Some((index, map.items.get(index)?.clone()));
            }
            frame = around;
        }
    }

    /// The value of a variable as a frame sees it: its own, or that of the nearest scope around.
    pub(crate) fn variable(&self, id: FrameId, name: &str) -> Option<&Payload> {
        let mut frame = self.frame(id)?;
        loop {
            if let Some((_, value)) = frame.variables.iter().find(|(known, _)| &**known == name) {
                return Some(value);
            }
            frame = self.frame(frame.parent?.frame)?;
        }
    }
}
