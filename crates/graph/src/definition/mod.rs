//! The picture of a state machine's definition.

mod condition;
mod detail;

use everstep_asl::Machine;
use everstep_asl::model::{
    Kind as StateKind, Mode, Operand, Pattern, State, StateId, Target, Transition,
};

pub use condition::condition;
pub use detail::detail;

use crate::model::{Edge, EdgeKind, Graph, Kind, Node};

/// A whole machine, with everything inside it.
#[must_use]
pub fn graph(machine: &Machine) -> Graph {
    Graph {
        title: machine.comment.clone(),
        start: Some(index(machine.start_at)),
        nodes: machine.states.iter().map(node).collect(),
        edges: machine.states.iter().enumerate().flat_map(|(at, state)| edges(at, state)).collect(),
    }
}

fn index(id: StateId) -> usize {
    id.0 as usize
}

fn node(state: &State) -> Node {
    Node {
        detail: detail(state),
        badges: badges(state),
        ends: matches!(state.transition(), Some(Transition::End)),
        children: children(state),
        ..Node::new(&*state.name, kind(state))
    }
}

fn kind(state: &State) -> Kind {
    match &state.kind {
        StateKind::Pass(_) => Kind::Pass,
        StateKind::Task(_) => Kind::Task,
        StateKind::Choice(_) => Kind::Choice,
        StateKind::Wait(_) => Kind::Wait,
        StateKind::Succeed => Kind::Succeed,
        StateKind::Fail(_) => Kind::Fail,
        StateKind::Parallel(_) => Kind::Parallel,
        StateKind::Map(_) => Kind::Map,
    }
}

fn badges(state: &State) -> Vec<String> {
    let retries = state.retry().iter().map(|retrier| retrier.max_attempts).max().unwrap_or(0);
    let mut badges = Vec::new();
    if let StateKind::Task(task) = &state.kind {
        badges.extend(match task.resource.pattern() {
            Pattern::RequestResponse => None,
            Pattern::Sync | Pattern::Sync2 => Some("waits for its end".to_owned()),
            Pattern::WaitForTaskToken => Some("waits for a callback".to_owned()),
        });
    }
    if retries > 0 {
        badges.push(format!("retry ×{retries}"));
    }
    if let StateKind::Map(map) = &state.kind {
        if matches!(map.mode, Mode::Distributed(_)) {
            badges.push("distributed".to_owned());
        }
        if let Some(Operand::Literal(most)) = &map.max_concurrency
            && *most > 0
        {
            badges.push(format!("{most} at a time"));
        }
    }
    badges
}

fn children(state: &State) -> Vec<Graph> {
    match &state.kind {
        StateKind::Parallel(parallel) => {
            let numbered = parallel.branches.iter().zip(1..);
            numbered.map(|(branch, number)| inner(branch, format!("Branch {number}"))).collect()
        }
        StateKind::Map(map) => vec![inner(&map.processor, "For each item".to_owned())],
        _ => Vec::new(),
    }
}

fn inner(machine: &Machine, title: String) -> Graph {
    let drawn = graph(machine);
    Graph { title: drawn.title.or(Some(title)), ..drawn }
}

fn edges(from: usize, state: &State) -> Vec<Edge> {
    let edge = |target: &Target, kind| Edge::new(from, index(target.id), kind);
    let mut edges = Vec::new();
    if let Some(Transition::Next(next)) = state.transition() {
        edges.push(edge(next, EdgeKind::Next));
    }
    if let StateKind::Choice(choice) = &state.kind {
        edges.extend(choice.rules.iter().map(|rule| {
            edge(&rule.next, EdgeKind::Choice { condition: condition(&rule.condition) })
        }));
        edges.extend(choice.default.iter().map(|target| edge(target, EdgeKind::Default)));
    }
    edges.extend(state.catch().iter().map(|catcher| {
        edge(&catcher.next, EdgeKind::Catch { errors: catcher.error_equals.clone() })
    }));
    edges
}

#[cfg(test)]
mod tests {
    use everstep_asl::{Options, Source, parse};

    use super::*;

    fn drawn(states: &str) -> Graph {
        let text = format!(r#"{{"StartAt":"A","States":{states}}}"#);
        let parsed = parse(&Source::new("t.json", text), &Options::default());
        graph(parsed.machine().unwrap_or_else(|| panic!("{:?}", parsed.diagnostics)))
    }

    fn check(states: &str, detail: Option<&str>, badges: &[&str]) {
        let graph = drawn(states);
        assert_eq!(graph.nodes[0].detail.as_deref(), detail, "{states}");
        assert_eq!(graph.nodes[0].badges, badges, "{states}");
    }

    #[test]
    fn states_say_what_they_do() {
        check(
            r#"{"A":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:123456789012:function:charge:1","End":true,
                "Retry":[{"ErrorEquals":["X"]},{"ErrorEquals":["States.ALL"],"MaxAttempts":5}]}}"#,
            Some("lambda: charge:1"),
            &["retry ×5"],
        );
        check(
            r#"{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken","End":true,
                "Parameters":{"FunctionName":"arn:aws:lambda:us-east-1:123456789012:function:f","Payload.$":"$$.Task.Token"}}}"#,
            Some("lambda: f"),
            &["waits for a callback"],
        );
        check(
            r#"{"A":{"Type":"Task","Resource":"arn:aws:states:::sns:publish","End":true,
                "Parameters":{"TopicArn":"t","Message":"m"}}}"#,
            Some("sns: publish"),
            &[],
        );
        check(r#"{"A":{"Type":"Wait","Seconds":90,"End":true}}"#, Some("90 s"), &[]);
        check(
            r#"{"A":{"Type":"Wait","Timestamp":"2030-01-01T00:00:00+01:00","End":true}}"#,
            Some("until 2029-12-31T23:00:00Z"),
            &[],
        );
        check(r#"{"A":{"Type":"Fail","Error":"Lost","Cause":"c"}}"#, Some("Lost"), &[]);
        check(
            r#"{"A":{"Type":"Map","MaxConcurrency":3,"ItemsPath":"$.items","End":true,"ItemProcessor":{
                "ProcessorConfig":{"Mode":"DISTRIBUTED","ExecutionType":"STANDARD"},
                "StartAt":"B","States":{"B":{"Type":"Pass","End":true}}}}}"#,
            Some("for each of $.items"),
            &["distributed", "3 at a time"],
        );
    }

    #[test]
    fn edges_say_when_they_are_taken() {
        let graph = drawn(
            r#"{"A":{"Type":"Choice","Choices":[
                {"Variable":"$.x","NumericGreaterThan":1,"Next":"B"},
                {"And":[{"Variable":"$.y","IsPresent":true},{"Not":{"Variable":"$.y","StringEquals":"a"}}],"Next":"C"}],
                "Default":"C"},
              "B":{"Type":"Task","Resource":"arn:aws:lambda:us-east-1:123456789012:function:f","Next":"C",
                "Catch":[{"ErrorEquals":["X","Y"],"Next":"C"}]},
              "C":{"Type":"Succeed"}}"#,
        );
        let shown: Vec<(usize, usize, Option<String>)> =
            graph.edges.iter().map(|edge| (edge.from, edge.to, edge.label())).collect();
        let label = |text: &str| Some(text.to_owned());
        assert_eq!(
            shown,
            [
                (0, 1, label("$.x > 1")),
                (0, 2, label("$.y is present and not ($.y = \"a\")")),
                (0, 2, label("default")),
                (1, 2, None),
                (1, 2, label("X, Y")),
            ]
        );
    }
}
