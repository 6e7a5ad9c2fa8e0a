//! What a state does, in few words.

use everstep_asl::model::{
    DataFlow, Items, Kind, Map, Operand, Resource, State, Task, Text, WaitUntil,
};
use everstep_source::duration;

/// `lambda: charge-customer`, `90 s`, `for each of $.items`; nothing for what the type tells.
#[must_use]
pub fn detail(state: &State) -> Option<String> {
    match &state.kind {
        Kind::Task(task) => Some(task_detail(task, &state.flow)),
        Kind::Wait(wait) => Some(wait_detail(&wait.until)),
        Kind::Map(map) => map_detail(map),
        Kind::Fail(fail) => fail.error.as_ref().map(text),
        Kind::Pass(_) | Kind::Choice(_) | Kind::Succeed | Kind::Parallel(_) => None,
    }
}

fn task_detail(task: &Task, flow: &DataFlow) -> String {
    match &*task.resource {
        Resource::Lambda { arn } => format!("lambda: {}", last_of(arn, ":function:")),
        Resource::Activity { arn } => format!("activity: {}", last_of(arn, ":activity:")),
        Resource::Service { service, action, .. } => match function_name(task, flow) {
            Some(name) => format!("lambda: {}", last_of(name, ":function:")),
            None => format!("{service}: {action}"),
        },
        Resource::Uri(uri) => uri.clone(),
        Resource::Placeholder(text) => text.clone(),
    }
}

/// Which function `lambda:invoke` calls, where that is fixed.
fn function_name<'s>(task: &Task, flow: &'s DataFlow) -> Option<&'s str> {
    if !task.resource.is_lambda() {
        return None;
    }
    let value = match flow {
        DataFlow::JsonPath(flow) => flow.parameters.as_ref()?.fixed_field("FunctionName"),
        DataFlow::Jsonata(flow) => flow.arguments.as_ref()?.fixed_field("FunctionName"),
    };
    value?.as_str()
}

fn last_of<'t>(text: &'t str, separator: &str) -> &'t str {
    text.split_once(separator).map_or(text, |(_, last)| last)
}

fn wait_detail(until: &WaitUntil) -> String {
    match until {
        WaitUntil::Seconds(Operand::Literal(whole)) => duration::exact(whole.saturating_mul(1000)),
        WaitUntil::Seconds(Operand::Path(path)) => format!("{} seconds", path.as_str()),
        WaitUntil::Seconds(Operand::Jsonata(expression)) => {
            format!("{} seconds", expression.as_str().trim())
        }
        WaitUntil::Timestamp(Operand::Literal(moment)) => format!("until {moment}"),
        WaitUntil::Timestamp(Operand::Path(path)) => format!("until {}", path.as_str()),
        WaitUntil::Timestamp(Operand::Jsonata(expression)) => {
            format!("until {}", expression.as_str().trim())
        }
    }
}

fn map_detail(map: &Map) -> Option<String> {
    if let Some(reader) = &map.item_reader {
        let kind = reader.config.input_type.as_deref().unwrap_or("S3");
        return Some(format!("for each item of a dataset ({kind})"));
    }
    match &map.items {
        Items::Path(path) => Some(format!("for each of {}", path.as_str())),
        Items::Whole | Items::Jsonata(_) => None,
    }
}

fn text(text: &Text) -> String {
    match text {
        Text::Literal(literal) => literal.clone(),
        Text::Expression(expression) => expression.as_str().to_owned(),
        Text::Jsonata(expression) => expression.as_str().trim().to_owned(),
    }
}
