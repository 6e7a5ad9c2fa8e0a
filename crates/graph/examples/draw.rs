//! Draws definitions in the Amazon States Language, read loosely: for looking at pictures while
//! working on this crate.
//!
//! `cargo run -p everstep-graph --example draw -- svg|mermaid|dot definition.json > picture`

use everstep_graph::{Edge, EdgeKind, Graph, Kind, Node};
use serde_json::Value;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [format, file] = &arguments[..] else {
        eprintln!("usage: draw svg|mermaid|dot definition.json");
        std::process::exit(2);
    };
    let text = std::fs::read_to_string(file).expect("a readable file");
    let definition: Value = serde_json::from_str(&text).expect("a definition in JSON");
    let graph = scope(&definition, None);
    let picture = match format.as_str() {
        "svg" => everstep_graph::svg(&graph),
        "mermaid" => everstep_graph::mermaid(&graph),
        _ => everstep_graph::dot(&graph),
    };
    print!("{picture}");
}

fn scope(definition: &Value, title: Option<String>) -> Graph {
    let empty = serde_json::Map::new();
    let states = definition["States"].as_object().unwrap_or(&empty);
    let find = |name: &Value| states.keys().position(|key| Some(key.as_str()) == name.as_str());
    let mut graph = Graph { title, start: find(&definition["StartAt"]), ..Graph::default() };
    for (index, (name, state)) in states.iter().enumerate() {
        graph.nodes.push(node(name, state));
        for (target, kind) in ways(state) {
            if let Some(to) = find(target) {
                graph.edges.push(Edge::new(index, to, kind));
            }
        }
    }
    graph
}

fn node(name: &str, state: &Value) -> Node {
    let kind = match state["Type"].as_str() {
        Some("Pass") => Kind::Pass,
        Some("Choice") => Kind::Choice,
        Some("Wait") => Kind::Wait,
        Some("Succeed") => Kind::Succeed,
        Some("Fail") => Kind::Fail,
        Some("Parallel") => Kind::Parallel,
        Some("Map") => Kind::Map,
        _ => Kind::Task,
    };
    let mut node = Node::new(name, kind);
    node.detail = detail(state);
    node.ends = state["End"] == true;
    node.badges = list(&state["Retry"]).iter().map(retry).collect();
    for (index, branch) in list(&state["Branches"]).iter().enumerate() {
        node.children.push(scope(branch, Some(format!("Branch {}", index + 1))));
    }
    for key in ["Iterator", "ItemProcessor"] {
        if state[key].is_object() {
            let mode = state[key]["ProcessorConfig"]["Mode"].as_str().unwrap_or("INLINE");
            let title = format!("For each item ({})", mode.to_lowercase());
            node.children.push(scope(&state[key], Some(title)));
        }
    }
    node
}

fn detail(state: &Value) -> Option<String> {
    let wait = |key: &str, unit: &str| {
        let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
        state.get(key).map(|value| format!("wait {}{unit}", text(value)))
    };
    let resource = state["Resource"].as_str().map(|resource| {
        let tail = resource.rsplit(":::").next().unwrap_or(resource);
        tail.rsplit(":function:").next().unwrap_or(tail).to_owned()
    });
    resource
        .or_else(|| state["Error"].as_str().map(str::to_owned))
        .or_else(|| wait("Seconds", " s"))
        .or_else(|| wait("SecondsPath", " s"))
        .or_else(|| wait("Timestamp", ""))
        .or_else(|| wait("TimestampPath", ""))
}

fn retry(rule: &Value) -> String {
    format!("retry ×{}", rule["MaxAttempts"].as_u64().unwrap_or(3))
}

fn ways(state: &Value) -> Vec<(&Value, EdgeKind)> {
    let mut ways = Vec::new();
    if let Some(next) = state.get("Next") {
        ways.push((next, EdgeKind::Next));
    }
    for rule in list(&state["Choices"]) {
        ways.push((&rule["Next"], EdgeKind::Choice { condition: condition(rule) }));
    }
    if let Some(default) = state.get("Default") {
        ways.push((default, EdgeKind::Default));
    }
    for rule in list(&state["Catch"]) {
        let errors = list(&rule["ErrorEquals"]).iter();
        let errors = errors.filter_map(Value::as_str).map(str::to_owned).collect();
        ways.push((&rule["Next"], EdgeKind::Catch { errors }));
    }
    ways
}

fn condition(rule: &Value) -> String {
    if let Some(text) = rule["Condition"].as_str() {
        return text.to_owned();
    }
    for (key, word) in [("And", " and "), ("Or", " or ")] {
        let parts: Vec<String> = list(&rule[key]).iter().map(condition).collect();
        if !parts.is_empty() {
            return parts.join(word);
        }
    }
    if rule["Not"].is_object() {
        return format!("not ({})", condition(&rule["Not"]));
    }
    let operator = rule.as_object().and_then(|rule| {
        rule.iter().find(|(key, _)| !matches!(key.as_str(), "Variable" | "Next" | "Comment"))
    });
    let variable = rule["Variable"].as_str().unwrap_or("?");
    operator.map_or(variable.to_owned(), |(key, value)| format!("{variable} {key} {value}"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
