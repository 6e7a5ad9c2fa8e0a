//! The parts of the page of an execution: header, failures, graph, one state, and what the tabs show.

use everstep_source::words::{duration, measured};
use everstep_story::action::{Action, Kind};
use everstep_story::history::HistoryEvent;
use everstep_story::{Attempt, Entry, Outcome, Standing, Story, Visit, words};
use maud::{Markup, html};
use serde_json::Value;

use crate::data;
use crate::failure::{self, Around};
use crate::pages::execution::{Events, Execution, Payloads, Tab};
use crate::parts::{self, Look, command, copyable, count, facts, grouped, nothing};
use crate::{time, timeline, url};

/// Visits of a state that are listed.
const VISITS_MAX: usize = 50;
/// Attempts of a visit that are shown.
const ATTEMPTS_MAX: usize = 50;

pub(crate) fn header(of: &Execution<'_>) -> Markup {
    let standing = of.story.standing();
    let ended_ms = (standing != Standing::Running).then(|| of.started_ms + of.story.elapsed_ms());
    let report = of.report;
    let took = match ended_ms {
        Some(ended_ms) => html! { (duration(ended_ms - of.started_ms)) },
        None => time::since(of.started_ms, of.now_ms),
    };
    let look = match standing {
        Standing::Running if !report.open.shown.is_empty() => Look::Retrying,
        other => Look::of(other),
    };
    let mut all = vec![
        ("State machine", html! { a href=(url::machine(of.machine)) { (of.machine) } }),
        ("Started", time::moment(of.started_ms)),
    ];
    all.extend(ended_ms.map(|ended_ms| ("Ended", time::moment(ended_ms))));
    all.push((if ended_ms.is_some() { "Took" } else { "Running for" }, took));
    all.push(("States entered", html! { (grouped(report.states)) }));
    all.push(("Retries", html! { (grouped(report.retries)) }));
    if of.redrives > 0 {
        all.push(("Redrives", html! { (of.redrives) }));
    }
    if let Some((label, href)) = &of.parent {
        all.push(("Started by", html! { a href=(href) { (label) } }));
    }
    html! {
        nav.crumbs aria-label="Breadcrumb" {
            a href=(url::path(&["executions"])) { "Executions" }
            a href={ (url::path(&["executions"])) (url::query(&[("machine", of.machine)])) } { (of.machine) }
        }
        div.title {
            h1 { (of.name) }
            (parts::status(look))
            div.buttons { (buttons(of)) }
        }
        (facts(&all))
        p.arn { (copyable(of.arn, "the ARN")) }
    }
}

fn buttons(of: &Execution<'_>) -> Markup {
    html! {
        @for action in of.actions {
            @if action.action == Kind::Stop { (stop(of)) } @else { (button(of, action)) }
        }
    }
}

/// The button of an action; none for what a page does anyway, or asks about first.
fn button(of: &Execution<'_>, action: &Action) -> Markup {
    match action.action {
        Kind::Redrive => parts::action(&format!("{}/redrive", of.address), "Redrive", "primary"),
        Kind::StartAgain => html! {
            a.button href={ (url::machine(of.machine)) (url::query(&[("from", of.name)])) "#start" } {
                "Start again…"
            }
        },
        Kind::Stop | Kind::Watch => html! {},
    }
}

/// Opens in place, so that nobody stops an execution by a slip of the mouse.
fn stop(of: &Execution<'_>) -> Markup {
    html! {
        details.menu #stop {
            summary.button { "Stop…" }
            form method="post" action={ (of.address) "/stop" } {
                label { "Error name" input name="error" maxlength="256" autocomplete="off"; }
                label { "Cause" input name="cause" maxlength="4096" autocomplete="off"; }
                button.danger { "Stop execution" }
            }
        }
    }
}

/// What a user can do, each with its command.
fn todo(of: &Execution<'_>) -> Markup {
    html! {
        ul.todo {
            @for action in of.actions {
                li { (button(of, action)) (failure::capital(&action.purpose)) ": " (command(&action.command)) }
            }
            @if let Some(obstacle) = of.redrive_obstacle {
                li.note { "it cannot be redriven: " (obstacle) }
            }
        }
    }
}

pub(crate) fn failures(of: &Execution<'_>) -> Markup {
    let (report, standing) = (of.report, of.story.standing());
    let around = Around {
        address: &of.address,
        started_ms: of.started_ms,
        now_ms: of.now_ms,
        is_running: standing == Standing::Running,
    };
    let todo = todo(of);
    let is_deliberate = report.ending.shown.first().is_some_and(|entry| entry.kind == "Fail");
    // Latest first: what came before a Fail state led there.
    let earlier: Vec<Entry> = report.earlier.shown.iter().rev().cloned().collect();
    let shows_earlier = standing == Standing::Failed && is_deliberate && !earlier.is_empty();
    // What can be done is said once, where the failure is explained.
    let cards = |entries: &[Entry], open: usize| {
        let shown = |(at, entry)| {
            failure::card(entry, around, Some(&todo).filter(|_| at == 0 && open > 0), at < open)
        };
        entries.iter().enumerate().map(shown).collect::<Vec<_>>()
    };
    html! {
        @if !report.open.shown.is_empty() {
            section.failures aria-label="Failures that are being retried" {
                @for card in cards(&report.open.shown, 3) { (card) }
                (omitted(report.open.omitted))
            }
        }
        @match standing {
            Standing::Failed => {
                section.failures.bad aria-label="Why it failed" {
                    h2 { "Why it failed" }
                    @for card in cards(&report.ending.shown, usize::from(!shows_earlier)) { (card) }
                    (omitted(report.ending.omitted))
                }
            }
            Standing::TimedOut | Standing::Aborted => { (cut_short(of)) }
            _ => {}
        }
        @if !earlier.is_empty() {
            section.failures aria-label="Earlier failures" {
                h2 { @if shows_earlier { "What led there" } @else { "Failures that were handled" } }
                @for card in cards(&earlier, usize::from(shows_earlier)) { (card) }
                (omitted(report.earlier.omitted))
            }
        }
    }
}

fn omitted(number: usize) -> Markup {
    html! { @if number > 0 { p.note { "and " (count(number, "earlier one")) } } }
}

/// It was stopped, or its time was up.
fn cut_short(of: &Execution<'_>) -> Markup {
    let is_timeout = of.story.standing() == Standing::TimedOut;
    html! {
        section.failures.bad aria-label="Why it ended" {
            h2 { @if is_timeout { "It ran out of time" } @else { "It was stopped" } }
            @if is_timeout {
                p {
                    "The execution exceeded its " code { "TimeoutSeconds" }
                    @if let Some(seconds) = of.timeout_seconds { " of " (seconds) " s" } "."
                }
            } @else if of.error.is_some() || of.cause.is_some() {
                p {
                    @if let Some(error) = of.error { b.error { (error) } }
                    @if let Some(cause) = of.cause { ": " (cause) }
                }
            }
            @let lines = of.report.activity_lines();
            @if !lines.is_empty() {
                p { "At that time:" }
                ul { @for line in lines.iter().take(10) { li { (line) } } }
            }
            (todo(of))
        }
    }
}

/// One state: how it fared, its attempts, and the data that went through it.
pub(crate) fn state(of: &Execution<'_>) -> Markup {
    let Some((index, visit)) =
        of.selected.and_then(|index| Some((index, of.story.visits().get(index)?)))
    else {
        return html! {};
    };
    let now_ms = of.story.elapsed_ms();
    let left_ms = visit.left_ms.unwrap_or(now_ms);
    let mut all = vec![
        ("Status", parts::status(Look::of_visit(visit))),
        ("Entered", time::moment(of.started_ms + visit.entered_ms)),
    ];
    all.push(match visit.left_ms {
        Some(_) => ("Took", html! { (measured(left_ms - visit.entered_ms)) }),
        None => ("For", time::since(of.started_ms + visit.entered_ms, of.now_ms)),
    });
    if let Some(detail) = of.detail {
        all.push(("Does", html! { code { (detail) } }));
    }
    html! {
        section.card.state #state aria-label={ "State " (visit.state) } {
            div.title {
                h2 {
                    @for around in &visit.scope { span.around { (around) " › " } }
                    (visit.state)
                }
                span.kind { (visit.kind) }
                (visits(of, index, visit))
            }
            (facts(&all))
            @if !visit.attempts.is_empty() { (attempts(of, visit)) }
            (payloads(&of.payloads))
        }
    }
}

/// The other visits of the same state.
fn visits(of: &Execution<'_>, selected: usize, visit: &Visit) -> Markup {
    let same = of.story.visits().iter().enumerate().filter(|(_, one)| one.place == visit.place);
    let same: Vec<(usize, &Visit)> = same.collect();
    if same.len() < 2 {
        return html! {};
    }
    // Failed ones first: those are looked for.
    let bad = same.iter().filter(|(_, one)| one.failure.is_some());
    let good = same.iter().filter(|(_, one)| one.failure.is_none());
    html! {
        form.visits action=(of.address) {
            label {
                (count(same.len(), "visit"))
                select name="visit" {
                    @for (index, one) in bad.chain(good).take(VISITS_MAX) {
                        option value=(index) selected[*index == selected] { (label(one)) }
                    }
                    @if same.len() > VISITS_MAX { option disabled { "and " (same.len() - VISITS_MAX) " more" } }
                }
            }
            button { "Show" }
        }
    }
}

fn label(visit: &Visit) -> String {
    let around = visit.scope.last().map(|around| format!("{around}, ")).unwrap_or_default();
    let word = Look::of_visit(visit).word().to_lowercase();
    format!("{around}{word} after {}", duration(visit.entered_ms))
}

fn attempts(of: &Execution<'_>, visit: &Visit) -> Markup {
    let dropped = visit.attempts.len().saturating_sub(ATTEMPTS_MAX);
    let with_queue = visit.attempts.iter().any(|attempt| attempt.started_ms.is_some());
    html! {
        h3 { "Attempts" }
        @if dropped > 0 { p.note { "the last " (ATTEMPTS_MAX) " of " (count(visit.attempts.len(), "attempt")) } }
        div.scroll {
            table {
                thead {
                    tr {
                        th scope="col" { "No." } th scope="col" { "Result" } th scope="col" { "Began" }
                        @if with_queue { th.number scope="col" { "Queued" } }
                        th.number scope="col" { "Ran" }
                        th scope="col" { "Then" }
                    }
                }
                tbody {
                    @for (at, attempt) in visit.attempts.iter().enumerate().skip(dropped) {
                        (attempt_row(of, visit, at, attempt, with_queue))
                    }
                }
            }
        }
    }
}

fn attempt_row(
    of: &Execution<'_>,
    visit: &Visit,
    at: usize,
    attempt: &Attempt,
    with_queue: bool,
) -> Markup {
    let entry = attempt.failure.and_then(|entry| of.story.entries().get(entry));
    let problem = entry.and_then(Entry::problem);
    let began_ms = attempt.started_ms.unwrap_or(attempt.scheduled_ms);
    let ran = match attempt.ended_ms {
        Some(ended_ms) => html! { (measured(ended_ms - began_ms)) },
        None => time::since(of.started_ms + began_ms, of.now_ms),
    };
    let look = match (problem, attempt.ended_ms) {
        (Some(_), _) => Look::Failed,
        (None, None) => Look::Running,
        (None, Some(_)) if visit.outcome == Outcome::Aborted => Look::Aborted,
        (None, Some(_)) => Look::Succeeded,
    };
    html! {
        tr {
            td { (at + 1) }
            td.wide {
                @match problem {
                    Some(problem) => {
                        (parts::mark(look, look.word())) " " b.error { (failure::error_name(problem)) }
                        @if let Some(message) = failure::message(problem) { ": " (message) }
                    }
                    None => { (parts::status(look)) }
                }
            }
            td { (time::moment(of.started_ms + attempt.scheduled_ms)) }
            @if with_queue {
                td.number { @if attempt.started_ms.is_some() { (measured(began_ms - attempt.scheduled_ms)) } }
            }
            td.number { (ran) }
            td {
                @if let Some(due_ms) = attempt.retry_ms {
                    @let due_ms = of.started_ms + due_ms;
                    @if at + 1 == visit.attempts.len() && due_ms > of.now_ms && visit.left_ms.is_none() {
                        "retry in " (time::until(due_ms, of.now_ms))
                    } @else {
                        "retried after " (measured(due_ms - of.started_ms - attempt.ended_ms.unwrap_or(0)))
                    }
                } @else if visit.outcome == Outcome::Caught && at + 1 == visit.attempts.len() {
                    "caught"
                }
            }
        }
    }
}

fn payloads(payloads: &Payloads) -> Markup {
    let columns = [
        ("Input", &payloads.input),
        ("Sent to the task", &payloads.parameters),
        ("Result of the task", &payloads.result),
        ("Output", &payloads.output),
    ];
    html! {
        div.columns {
            @for (title, data) in columns {
                @if let Some(data) = data {
                    section { h3 { (title) } (data::block(data)) }
                }
            }
        }
    }
}

pub(crate) fn tabs(of: &Execution<'_>) -> Markup {
    let tab = |name: &str, label: &str, is_current: bool| {
        let href = format!("{}{}#tabs", of.address, url::query(&[("tab", name)]));
        html! { a href=(href) aria-current=[is_current.then_some("true")] { (label) } }
    };
    html! {
        nav.tabs #tabs aria-label="Details" {
            (tab("", "Timeline", matches!(of.tab, Tab::Timeline)))
            (tab("events", "Events", matches!(of.tab, Tab::Events(_))))
            (tab("data", "Input and output", matches!(of.tab, Tab::Data { .. })))
            (tab("definition", "Definition", matches!(of.tab, Tab::Definition(_))))
        }
        section.card.tab {
            @match &of.tab {
                Tab::Timeline => { div.scroll { (timeline::table(of.story, &of.address)) } }
                Tab::Events(window) => { (events(of, window)) }
                Tab::Data { input, output } => {
                    div.columns {
                        section { h3 { "Input" } (data::block(input)) }
                        section {
                            h3 { "Output" }
                            @match output {
                                Some(output) => { (data::block(output)) }
                                None => { (nothing("No output")) }
                            }
                        }
                    }
                }
                Tab::Definition(text) => { (data::block(text)) }
            }
        }
    }
}

fn events(of: &Execution<'_>, window: &Events) -> Markup {
    let at = |from: u64| {
        let only = if window.only_failures { "failed" } else { "" };
        let from = from.to_string();
        format!(
            "{}{}#tabs",
            of.address,
            url::query(&[("tab", "events"), ("from", &from), ("only", only)])
        )
    };
    html! {
        form.filters action=(of.address) {
            input type="hidden" name="tab" value="events";
            label { "From event" input.short name="from" inputmode="numeric" value=(window.from) autocomplete="off"; }
            label.check { input type="checkbox" name="only" value="failed" checked[window.only_failures]; "Failures only" }
            button { "Show" }
        }
        @if window.events.is_empty() { (nothing("No events here")) } @else {
            div.scroll { (event_table(of, &window.events)) }
        }
        nav.pager aria-label="Pages of events" {
            a href=(at(1)) { "First" }
            @if let Some(from) = window.previous { a rel="prev" href=(at(from)) { "Earlier" } }
            @if let Some(from) = window.next { a rel="next" href=(at(from)) { "Later" } }
            a href={ (of.address) (url::query(&[("tab", "events"), ("from", "last")])) "#tabs" } { "Last" }
        }
    }
}

fn event_table(of: &Execution<'_>, events: &[Value]) -> Markup {
    html! {
        table.events {
            thead {
                tr {
                    th.number scope="col" { "Id" } th.number scope="col" { "After" }
                    th.number scope="col" { "Time" } th scope="col" { "Event" } th scope="col" { "What" }
                }
            }
            tbody {
                @for event in events { (event_row(of, &HistoryEvent(event))) }
            }
        }
    }
}

fn event_row(of: &Execution<'_>, event: &HistoryEvent<'_>) -> Markup {
    const SUMMARY_CHARS_MAX: usize = 300;
    let id = event.id();
    let kind = event.kind();
    let is_bad = ["Failed", "TimedOut", "Aborted"].iter().any(|end| kind.ends_with(end));
    let payload = |name: &str, text: &str| {
        let href = format!("{}/event/{id}/{name}", of.address);
        html! { a.payload href=(href) { (name) " " (data::size(text.len())) } }
    };
    html! {
        tr id={ "e" (id) } class=[is_bad.then_some("bad")] {
            td.number { (id) }
            td.number { (event.previous()) }
            td.number { (duration(event.at_ms() - of.started_ms)) }
            td { (kind) }
            td.wide {
                @match event.text("error") {
                    Some(error) => {
                        b.error { (error) }
                        @if let Some(message) = words::message(event.text("cause")) {
                            ": " (words::shorten(&message, SUMMARY_CHARS_MAX))
                        }
                    }
                    None => { (words::shorten(&event.summary(), SUMMARY_CHARS_MAX)) }
                }
                @for (name, text) in event.payloads() { " " (payload(name, text)) }
            }
        }
    }
}

/// What a page is about if nobody has chosen: what failed, else what runs, else what came last.
pub(crate) fn default_visit(story: &Story) -> Option<usize> {
    let report = story.report();
    let entries = report.open.shown.iter().chain(&report.ending.shown);
    let failed = entries.filter(|entry| entry.kind != "Fail").find_map(|entry| entry.visit);
    let earlier = || report.earlier.shown.last().and_then(|entry| entry.visit);
    let open = || story.visits().iter().rposition(|visit| visit.left_ms.is_none());
    let last = || story.visits().len().checked_sub(1);
    failed.or_else(open).or_else(earlier).or_else(last)
}

/// The visit that a link from a place leads to.
pub(crate) fn visit_of(story: &Story, place: &str) -> Option<usize> {
    let mut of_place =
        story.visits().iter().enumerate().filter(|(_, visit)| &*visit.place == place);
    let rank = |visit: &Visit| match Look::of_visit(visit) {
        Look::Retrying => 3,
        Look::Running | Look::Waiting => 2,
        Look::Failed | Look::TimedOut | Look::Caught => 1,
        Look::Succeeded | Look::Aborted => 0,
    };
    let first = of_place.next()?;
    let best =
        of_place.fold(first, |best, one| if rank(one.1) >= rank(best.1) { one } else { best });
    Some(best.0)
}
