//! Whether pictures keep what they promise: boxes and labels apart from one another, lines apart
//! from boxes, everything inside what holds it, and a document that parsers accept.

use proptest::prelude::*;

use super::Scope;
use crate::layout::geometry::{Path, Point, Rect, Step};
use crate::model::{Edge, EdgeKind, Graph, Kind, Node, Status, samples};

/// Rounding and line widths.
const TOLERANCE: f64 = 0.6;

fn check(graph: &Graph) {
    check_scope(&Scope::new(graph, 0));
    let picture = crate::svg(graph);
    roxmltree::Document::parse(&picture).expect("well-formed XML");
    assert_eq!(picture, crate::svg(graph), "the same model gives the same bytes");
    crate::mermaid(graph);
    crate::dot(graph);
}

fn check_scope(scope: &Scope) {
    let cards = scope.cards.iter().map(|card| card.rect);
    let markers = scope.markers.iter().map(|marker| marker.rect);
    let boxes: Vec<Rect> = cards.chain(markers).collect();
    let labels = scope.wires.iter().filter_map(|wire| wire.route.label);
    let all: Vec<Rect> = boxes.iter().copied().chain(labels).collect();
    let paper = Rect { width: scope.size.width, height: scope.size.height, ..Rect::default() };
    for (index, rect) in all.iter().enumerate() {
        assert!(holds(&paper, rect), "{rect:?} is outside of {paper:?}");
        for other in &all[..index] {
            assert!(!overlap(rect, other), "{rect:?} overlaps {other:?}");
        }
    }
    for path in scope.wires.iter().flat_map(|wire| &wire.route.paths) {
        for point in samples_of(path) {
            for rect in &all {
                assert!(!is_inside(rect, point), "{path:?} passes {rect:?} at {point:?}");
            }
        }
    }
    for wire in &scope.wires {
        let count = wire.label.lines.len();
        assert_eq!(count > 0, wire.route.label.is_some(), "{:?} has its place", wire.title);
        if let Some(rect) = wire.route.label {
            assert!(wire.label.width() <= rect.width, "{:?} fits", wire.label);
        }
    }
    scope.cards.iter().for_each(check_card);
}

fn check_card(card: &super::Card) {
    let inside = Rect { x: 0.0, y: 0.0, ..card.rect };
    let words = card.texts.iter().map(|text| {
        let Point { x, y } = text.at;
        Rect { x, y: y - 10.0, width: text.line.width, height: 12.0 }
    });
    let badges = card.badges.iter().map(|(rect, _)| *rect);
    let frames = card.frames.iter().map(|frame| frame.rect);
    let parts: Vec<Rect> = words.chain(badges).chain(frames).collect();
    for (index, part) in parts.iter().enumerate() {
        assert!(holds(&inside, part), "{part:?} leaves {inside:?}: {}", card.title);
        for other in &parts[..index] {
            assert!(!overlap(part, other), "{part:?} overlaps {other:?}: {}", card.title);
        }
    }
    for frame in &card.frames {
        let Point { x, y } = frame.origin;
        let size = frame.scope.size;
        let inner = Rect { x, y, width: size.width, height: size.height };
        assert!(holds(&frame.rect, &inner), "{inner:?} leaves {:?}", frame.rect);
        check_scope(&frame.scope);
    }
}

fn holds(outer: &Rect, inner: &Rect) -> bool {
    inner.x >= outer.x - TOLERANCE
        && inner.y >= outer.y - TOLERANCE
        && inner.right() <= outer.right() + TOLERANCE
        && inner.bottom() <= outer.bottom() + TOLERANCE
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    a.x + TOLERANCE < b.right()
        && b.x + TOLERANCE < a.right()
        && a.y + TOLERANCE < b.bottom()
        && b.y + TOLERANCE < a.bottom()
}

fn is_inside(rect: &Rect, point: Point) -> bool {
    let point = Rect { x: point.x, y: point.y, ..Rect::default() };
    rect.x + TOLERANCE < point.x
        && point.x < rect.right() - TOLERANCE
        && rect.y + TOLERANCE < point.y
        && point.y < rect.bottom() - TOLERANCE
}

/// Points along a path, close enough to notice a box on the way.
fn samples_of(path: &Path) -> Vec<Point> {
    let mut points = Vec::new();
    let mut from = Point::default();
    for step in &path.steps {
        let (a, b, to) = match *step {
            Step::Move(to) => (to, to, to),
            Step::Line(to) => (from, to, to),
            Step::Curve(a, b, to) => (a, b, to),
        };
        let from_here = if matches!(step, Step::Move(_)) { to } else { from };
        points.extend((0..=16).map(|i| bezier(from_here, a, b, to, f64::from(i) / 16.0)));
        from = to;
    }
    points
}

fn bezier(a: Point, b: Point, c: Point, d: Point, t: f64) -> Point {
    let s = 1.0 - t;
    let mix = |a: f64, b: f64, c: f64, d: f64| {
        s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
    };
    Point { x: mix(a.x, b.x, c.x, d.x), y: mix(a.y, b.y, c.y, d.y) }
}

/// A machine of plain tasks.
fn tasks(count: usize, edges: Vec<Edge>) -> Graph {
    let nodes = (0..count).map(|index| Node::new(format!("Task {index}"), Kind::Task));
    Graph { start: Some(0), nodes: nodes.collect(), edges, ..Graph::default() }
}

fn next(from: usize, to: usize) -> Edge {
    Edge::new(from, to, EdgeKind::Next)
}

fn catch(from: usize, to: usize, error: &str) -> Edge {
    Edge::new(from, to, EdgeKind::Catch { errors: vec![error.to_owned()] })
}

#[test]
fn small_machines_are_tidy() {
    check(&Graph::default());
    check(&samples::order());
    check(&samples::parallel());
}

#[test]
fn loops_and_double_edges_are_tidy() {
    let condition = "$.a.long.condition.that.needs.several.lines > 12345".to_owned();
    let choice = EdgeKind::Choice { condition };
    check(&tasks(
        3,
        vec![
            next(0, 1),
            catch(0, 1, "A"),
            catch(0, 1, "B"),
            next(1, 0),
            catch(1, 1, "States.Timeout"),
            Edge::new(1, 1, choice.clone()),
            catch(1, 0, "C"),
            Edge::new(1, 2, choice),
            next(2, 0),
            next(7, 9),
        ],
    ));
}

#[test]
fn every_state_caught_by_the_last_is_tidy() {
    let edges = (0..29).flat_map(|from| [next(from, from + 1), catch(from, 29, "States.ALL")]);
    check(&tasks(30, edges.collect()));
}

#[test]
fn hostile_names_stay_in_their_boxes() {
    for name in [
        "<script>alert(1)</script>",
        "\"'&<>]]>",
        "\u{0}\u{8}\u{b}\u{1f}\u{fffe}",
        "שלום עולם \u{202e}abc",
        "👩\u{200d}👩\u{200d}👧 party 🎉",
        "﷽﷽﷽﷽﷽﷽",
        "",
        " \n ",
        &"W".repeat(5_000),
    ] {
        let mut graph = samples::order();
        graph.title = Some(name.to_owned());
        for node in &mut graph.nodes {
            node.name = name.to_owned();
            node.detail = Some(name.to_owned());
            node.badges = vec![name.to_owned(); 5];
            node.status = Some(Status::Failed);
        }
        graph.edges.push(catch(1, 2, name));
        check(&graph);
    }
}

#[test]
fn scopes_nested_too_deep_are_counted_instead() {
    let graph = samples::nested(1_000);
    check(&graph);
    let note = "985 states inside, nested too deep to draw";
    for picture in [crate::svg(&graph), crate::mermaid(&graph), crate::dot(&graph)] {
        assert!(picture.contains(note) || picture.contains("985 states inside#44;"), "{picture}");
    }
}

#[test]
fn lines_too_long_for_a_large_machine_name_their_end() {
    let edges = (0..1_000).flat_map(|from| [next(from, from + 1), next(from, from * 7 % 1_000)]);
    let graph = tasks(1_001, edges.collect());
    let scope = Scope::new(&graph, 0);
    let jumping = scope.wires.iter().filter(|wire| wire.jumps).count();
    assert!((500..1_000).contains(&jumping), "{jumping} lines jump");
    assert!(crate::svg(&graph).contains(">→ Task "));
}

fn kind() -> impl Strategy<Value = Kind> {
    use Kind::*;
    prop::sample::select(vec![Task, Pass, Choice, Wait, Succeed, Fail, Parallel, Map])
}

fn edge(count: usize) -> impl Strategy<Value = Edge> {
    let kind = prop_oneof![
        Just(EdgeKind::Next),
        Just(EdgeKind::Default),
        "\\PC{0,60}".prop_map(|condition| EdgeKind::Choice { condition }),
        prop::collection::vec("[A-Za-z.]{0,20}", 0..4)
            .prop_map(|errors| EdgeKind::Catch { errors }),
    ];
    (0..count + 1, 0..count + 1, kind).prop_map(|(from, to, kind)| Edge::new(from, to, kind))
}

fn node(children: impl Strategy<Value = Vec<Graph>>) -> impl Strategy<Value = Node> {
    let words = (any::<String>(), prop::option::of("\\PC{0,80}"));
    let badges = prop::collection::vec("[a-z ×0-9]{0,30}", 0..5);
    (words, kind(), badges, any::<bool>(), children).prop_map(
        |((name, detail), kind, badges, ends, children)| Node {
            detail,
            badges,
            ends,
            children,
            ..Node::new(name, kind)
        },
    )
}

fn graph(children: impl Strategy<Value = Vec<Graph>>) -> impl Strategy<Value = Graph> {
    let nodes = prop::collection::vec(node(children), 0..9);
    nodes.prop_flat_map(|nodes| {
        let count = nodes.len();
        let edges = prop::collection::vec(edge(count), 0..3 * count + 1);
        (Just(nodes), edges, prop::option::of(0..count + 1), prop::option::of("\\PC{0,40}"))
            .prop_map(|(nodes, edges, start, title)| Graph { title, start, nodes, edges })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_machine_is_tidy(graph in graph(Just(Vec::new()))) {
        check(&graph);
    }

    #[test]
    fn any_nested_machine_is_tidy(
        graph in graph(prop::collection::vec(graph(Just(Vec::new())), 0..3)),
    ) {
        check(&graph);
    }
}
