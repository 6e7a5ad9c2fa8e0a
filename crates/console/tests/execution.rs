//! The page of an execution: what it says, that nothing in it is markup of others, and how large it can get.

use std::sync::Arc;

use everstep_asl::{Dialect, Machine, Options, Source};
use everstep_console::pages::execution::{Events, Execution, Payloads, Tab, page, selected};
use everstep_console::{Data, Page, Section, Site, document};
use everstep_interpreter::{Attempt, Event, Failure, FailureStage, FrameId, Payload};
use everstep_story::action::{Subject, actions};
use everstep_story::{RunId, Story};
use serde_json::{Value, json};

const START_MS: i64 = 1_700_000_000_000;
const ARN: &str = "arn:aws:states:us-east-1:123456789012:execution:order:o-1";

fn machine(states: &Value) -> Arc<Machine> {
    let start = states.as_object().and_then(|states| states.keys().next());
    let text = json!({ "StartAt": start, "States": states }).to_string();
    let parsed = everstep_asl::parse(&Source::new("test.json", text), &Options::default());
    Arc::new(parsed.into_machine().expect("a definition without errors"))
}

fn task(name: &str) -> Value {
    json!({ name: {
        "Type": "Task", "Resource": "arn:aws:lambda:us-east-1:123456789012:function:charge",
        "TimeoutSeconds": 9, "End": true,
        "Retry": [
            { "ErrorEquals": ["RateLimitErorr"] },
            { "ErrorEquals": ["RateLimitError"], "IntervalSeconds": 10, "MaxAttempts": 5 },
        ],
        "Catch": [{ "ErrorEquals": ["States.ALL"], "Next": "Undo" }],
    }, "Undo": { "Type": "Fail" } })
}

fn nothing() -> Payload {
    Payload::new(json!({}))
}

/// A task that fails once and waits for its retry.
fn retrying(error: &str, cause: &str) -> Vec<Event> {
    let (frame, at_ms) = (FrameId::ROOT, START_MS);
    let attempt = Attempt { frame, number: 0 };
    let failure = Failure::new(error, cause);
    vec![
        Event::ExecutionStarted { at_ms, input: nothing() },
        Event::StateEntered { frame, at_ms, state: 0, input: nothing() },
        Event::TaskScheduled {
            attempt,
            at_ms,
            parameters: nothing(),
            timeout_seconds: None,
            heartbeat_seconds: None,
            deadline_ms: None,
            credentials: None,
        },
        Event::TaskFailed {
            attempt,
            at_ms: at_ms + 400,
            failure: failure.clone(),
            stage: FailureStage::Run,
        },
        Event::RetryScheduled {
            frame,
            at_ms: at_ms + 400,
            retrier: 1,
            due_ms: at_ms + 10_400,
            failure,
        },
    ]
}

fn story(machine: &Arc<Machine>, events: &[Event]) -> Story {
    let mut story = Story::new(Dialect::Spec);
    story.begin(RunId(0), machine.clone(), None);
    story.observe(RunId(0), events);
    story.at(START_MS + 2400);
    story
}

fn shown(machine: &Arc<Machine>, story: &Story, tab: Tab) -> Page {
    let report = story.report();
    let of = Subject { arn: ARN, standing: story.standing(), is_redrivable: false };
    let actions = actions(of);
    page(&Execution {
        machine: "order",
        name: "o-1",
        arn: ARN,
        address: "/console/executions/order/o-1".to_owned(),
        started_ms: START_MS,
        now_ms: START_MS + 2400,
        redrives: 0,
        redrive_obstacle: None,
        error: None,
        cause: None,
        timeout_seconds: None,
        parent: None,
        definition: machine,
        story,
        report: &report,
        actions: &actions,
        selected: selected(story, None, None),
        detail: Some("lambda: charge"),
        payloads: Payloads {
            input: Some(Data::new("{\"a\":\"</pre><script>\"}")),
            ..Payloads::default()
        },
        tab,
    })
}

fn html(page: &Page) -> String {
    let address = "/console/executions/order/o-1\"><script>".to_owned();
    document(page, &Site { now_ms: START_MS, address, ..Site::default() })
}

/// Without elements, and with single spaces.
fn text(html: &str) -> String {
    let mut out = String::new();
    let mut is_tag = false;
    for letter in html.chars() {
        match letter {
            '<' => is_tag = true,
            '>' => (is_tag, _) = (false, out.push(' ')),
            other if !is_tag => out.push(other),
            _ => {}
        }
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_seven_answers() {
    let machine = machine(&task("Charge"));
    let story = story(&machine, &retrying("RateLimitError", "too many calls"));
    let text = text(&html(&shown(&machine, &story, Tab::Timeline)));
    for answer in [
        "Charge failed with RateLimitError retry 1 of 5 in 8.0 s",
        "What failed Charge , a Task state",
        "Why RateLimitError : too many calls",
        "Tried Once, failed at 2023-11-14 22:13:20",
        "Retrier 1 of 2 RateLimitErorr does not match : `RateLimitErorr` is spelled differently from `RateLimitError`",
        "Retrier 2 of 2 RateLimitError matches",
        "Catcher 1 of 1 States.ALL would match",
        "Next try Retry 1 of 5 in 8.0 s , at 2023-11-14 22:13:30",
        "If that fails too Retry 2 of 5 after 20 s. If all 4 retries fail: catcher 1 of 1 States.ALL continues at Undo",
        "Stop it: everstep executions stop o-1 --machine order",
    ] {
        assert!(text.contains(answer), "{answer:?} is missing in {text}");
    }
}

/// Whatever is in a name, a cause or a payload is text.
#[test]
fn nothing_of_others_is_markup() {
    for hostile in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onmouseover='alert(1)",
        "</title></style></textarea><script>",
        "\u{202e}gnp.exe\u{0}\u{1b}[31m",
    ] {
        let machine = machine(&task(hostile));
        let story = story(&machine, &retrying(hostile, hostile));
        let html = html(&shown(&machine, &story, Tab::Timeline));
        for markup in ["<script>", "<img", "onerror=alert(1)>", "<script>alert"] {
            assert!(!html.contains(markup), "{hostile}: {markup}");
        }
        let names = attribute_names(&html);
        assert!(names.iter().all(|name| !name.starts_with("on")), "{hostile}: {names:?}");
        let scripts = html.matches("<script").count();
        assert_eq!(scripts, 1, "{hostile}");
    }
}

/// The names of all attributes of a document: what is outside quotes, inside tags.
fn attribute_names(html: &str) -> Vec<String> {
    let (mut names, mut name) = (Vec::new(), String::new());
    let (mut is_tag, mut is_value) = (false, false);
    for letter in html.chars() {
        match (is_tag, is_value, letter) {
            (false, _, '<') => is_tag = true,
            (true, false, '>') => is_tag = false,
            (true, _, '"') => is_value = !is_value,
            (true, false, '=' | ' ' | '/') => names.push(std::mem::take(&mut name)),
            (true, false, letter) => name.push(letter),
            _ => {}
        }
    }
    names
}

fn nodes(html: &str) -> usize {
    html.matches('<').count() - html.matches("</").count()
}

/// 250 KiB and 8,000 nodes for any page.
fn check_budget(page: &Page) {
    let html = html(page);
    assert!(html.len() <= 250 * 1024, "{} bytes", html.len());
    assert!(nodes(&html) <= 8000, "{} nodes", nodes(&html));
}

/// A Map of thousands of items, each of which fails.
#[test]
fn a_page_has_its_budget_whatever_an_execution_did() {
    let item = json!({ "StartAt": "Charge", "States": task("Charge") });
    let machine = machine(&json!({ "Each": {
        "Type": "Map", "ItemProcessor": item, "End": true, "ToleratedFailurePercentage": 100
    } }));
    let (root, at_ms) = (FrameId::ROOT, START_MS);
    let mut events = vec![
        Event::ExecutionStarted { at_ms, input: nothing() },
        Event::StateEntered { frame: root, at_ms, state: 0, input: nothing() },
        Event::MapStarted {
            frame: root,
            at_ms,
            items: Payload::new(json!([])),
            max_concurrency: 0,
            distributed: false,
        },
    ];
    for index in 0..6000_u32 {
        let child = FrameId(index + 1);
        let input = nothing();
        events.push(Event::IterationStarted {
            frame: root,
            at_ms,
            index,
            child,
            input,
            after: None,
        });
        events.push(Event::StateEntered { frame: child, at_ms, state: 0, input: nothing() });
        events.push(Event::StateFailed {
            frame: child,
            at_ms: at_ms + 5,
            failure: Failure::new("Broken", "x".repeat(2000)),
            retrier: None,
            catcher: None,
        });
    }
    let story = story(&machine, &events);
    assert_eq!(story.visits().len(), 6001);
    check_budget(&shown(&machine, &story, Tab::Timeline));
    let event = json!({
        "id": 1, "previousEventId": 0, "type": "TaskFailed", "timestamp": 1,
        "taskFailedEventDetails": { "error": "E", "cause": "y".repeat(30_000) },
    });
    let events = Events { events: vec![event; 200], ..Events::default() };
    check_budget(&shown(&machine, &story, Tab::Events(events)));
    let large = Data::new("z".repeat(1 << 20));
    check_budget(&shown(&machine, &story, Tab::Data { input: large.clone(), output: Some(large) }));
}

#[test]
fn a_page_belongs_to_its_section() {
    let machine = machine(&task("Charge"));
    let story = story(&machine, &[]);
    let page = shown(&machine, &story, Tab::Timeline);
    assert_eq!(page.section, Section::Executions);
    assert!(html(&page).contains("<a href=\"/console/executions\" aria-current=\"page\">"));
}
