//! When each state ran: bars for queued, running and back-off time. Long times in which nothing ran are drawn short.

use everstep_source::words::{duration, span};
use everstep_story::{Attempt, Outcome, Story, Visit};
use maud::{Markup, html};

use crate::parts::{Look, count, mark};
use crate::url;

/// Visits that have a row each; of more, there is one row for each state, and some for failed visits.
const VISITS_MAX: usize = 200;
const FAILED_MAX: usize = 20;
const ROWS_MAX: usize = 300;
const ATTEMPTS_MAX: usize = 100;

/// Where the time goes that nothing ran in: this much of the width, in percent.
const GAP_WIDTH: f64 = 7.0;
const GAPS_MAX: usize = 6;
/// The room that a label needs.
const LABEL_WIDTH: f64 = 9.0;

pub(crate) fn table(story: &Story, address: &str) -> Markup {
    let end_ms = story.elapsed_ms().max(1);
    let visits = story.visits();
    if visits.is_empty() {
        return html! { p.nothing { "Nothing has happened yet" } };
    }
    let axis = Axis::new(gaps(&busy(visits, end_ms), end_ms), end_ms);
    let rows = rows(visits);
    html! {
        table.timeline {
            thead {
                tr {
                    th scope="col" { "State" }
                    th scope="col" { (axis.ticks()) }
                    th.number scope="col" { "Took" }
                }
            }
            tbody {
                @for row in rows.iter().take(ROWS_MAX) {
                    @match row {
                        Row::One(index, visit) => { (one(*index, visit, &axis, end_ms, address)) }
                        Row::Many(visits) => { (many(visits, &axis, end_ms)) }
                    }
                }
            }
        }
        @if rows.len() > ROWS_MAX {
            p.note { (count(rows.len() - ROWS_MAX, "more row")) }
        }
        p.legend {
            span.queued { "queued" } span.ran { "ran" } span.bad { "failed" } span.backoff { "back-off" }
            span.wait { "waited" }
        }
    }
}

enum Row<'s> {
    One(usize, &'s Visit),
    /// Of one state.
    Many(Vec<&'s Visit>),
}

fn rows(visits: &[Visit]) -> Vec<Row<'_>> {
    let numbered = visits.iter().enumerate();
    if visits.len() <= VISITS_MAX {
        return numbered.map(|(index, visit)| Row::One(index, visit)).collect();
    }
    let mut states: Vec<(&str, Vec<(usize, &Visit)>)> = Vec::new();
    let mut found = std::collections::HashMap::new();
    for (index, visit) in numbered {
        let at = *found.entry(&*visit.place).or_insert(states.len());
        if at == states.len() {
            states.push((&visit.place, Vec::new()));
        }
        states[at].1.push((index, visit));
    }
    states.into_iter().flat_map(|(_, visits)| of_state(visits)).collect()
}

/// A row for all of them, and rows for some that failed.
fn of_state(visits: Vec<(usize, &Visit)>) -> Vec<Row<'_>> {
    if let [(index, visit)] = visits[..] {
        return vec![Row::One(index, visit)];
    }
    let is_bad = |(_, visit): &&(usize, &Visit)| visit.failure.is_some();
    let bad = visits.iter().filter(is_bad).take(FAILED_MAX);
    let bad: Vec<Row<'_>> = bad.map(|(index, visit)| Row::One(*index, visit)).collect();
    let all = visits.into_iter().map(|(_, visit)| visit).collect();
    std::iter::once(Row::Many(all)).chain(bad).collect()
}

fn one(index: usize, visit: &Visit, axis: &Axis, end_ms: i64, address: &str) -> Markup {
    let left_ms = visit.left_ms.unwrap_or(end_ms);
    let href = format!("{address}{}#state", url::query(&[("visit", &index.to_string())]));
    let look = Look::of_visit(visit);
    let depth = visit.scope.len().min(6);
    let dropped = visit.attempts.len().saturating_sub(ATTEMPTS_MAX);
    html! {
        tr {
            th scope="row" class={ "depth-" (depth) } {
                (mark(look, look.word())) a href=(href) { (name(visit)) }
            }
            td {
                svg.bars width="100%" height="20" role="img" aria-label=(spoken(visit, end_ms)) {
                    (axis.marks())
                    @if visit.attempts.is_empty() || is_scope(visit) {
                        (bar(axis, visit.entered_ms, left_ms, own_class(visit)))
                    }
                    @if !is_scope(visit) {
                        @for (at, attempt) in visit.attempts.iter().enumerate().skip(dropped) {
                            (tried(axis, visit, at, attempt, end_ms))
                        }
                    }
                }
            }
            td.number { (duration(left_ms - visit.entered_ms)) }
        }
    }
}

fn name(visit: &Visit) -> String {
    match visit.scope.last() {
        Some(around) => format!("{around} › {}", visit.state),
        None => visit.state.to_string(),
    }
}

fn is_scope(visit: &Visit) -> bool {
    matches!(visit.kind, "Parallel" | "Map")
}

fn own_class(visit: &Visit) -> &'static str {
    match (visit.kind, visit.outcome) {
        ("Parallel" | "Map", _) => "scope",
        ("Wait", _) => "wait",
        (_, Outcome::Failed | Outcome::Caught) => "bad",
        (_, Outcome::Aborted) => "cut",
        _ => "ran",
    }
}

fn tried(axis: &Axis, visit: &Visit, at: usize, attempt: &Attempt, end_ms: i64) -> Markup {
    let ended_ms = attempt.ended_ms.unwrap_or(end_ms);
    let began_ms = attempt.started_ms.unwrap_or(attempt.scheduled_ms);
    let class = match (attempt.failure, attempt.ended_ms) {
        (Some(_), _) => "bad",
        (None, None) => "ran live",
        (None, Some(_)) if visit.outcome == Outcome::Aborted => "cut",
        _ => "ran",
    };
    let next = visit.attempts.get(at + 1).map(|next| next.scheduled_ms);
    let until_ms = next.or(attempt.retry_ms.map(|due_ms| due_ms.min(end_ms)));
    html! {
        @if began_ms > attempt.scheduled_ms {
            (bar(axis, attempt.scheduled_ms, began_ms, "queued"))
        }
        @if let Some(until_ms) = until_ms.filter(|until_ms| *until_ms > ended_ms) {
            (line(axis, ended_ms, until_ms))
        }
        (bar(axis, began_ms, ended_ms, class))
    }
}

fn bar(axis: &Axis, from_ms: i64, to_ms: i64, class: &str) -> Markup {
    let (from, to) = (axis.at(from_ms), axis.at(to_ms));
    // What took no time is seen, too.
    let width = (to - from).max(0.35);
    // The whole of a scope is behind what runs in it.
    let (y, height) = if class == "scope" { (8, 4) } else { (4, 12) };
    html! {
        rect class=(class) x=(percent(from.min(99.65))) y=(y) width=(percent(width)) height=(height) rx="2" {}
    }
}

fn line(axis: &Axis, from_ms: i64, to_ms: i64) -> Markup {
    html! {
        line.backoff x1=(percent(axis.at(from_ms))) x2=(percent(axis.at(to_ms))) y1="10" y2="10" {}
    }
}

fn percent(value: f64) -> String {
    format!("{value:.2}%")
}

/// The row in words.
fn spoken(visit: &Visit, end_ms: i64) -> String {
    let took = duration(visit.left_ms.unwrap_or(end_ms) - visit.entered_ms);
    let attempts = match visit.attempts.len() {
        0 | 1 => String::new(),
        more => format!(", {}", count(more, "attempt")),
    };
    format!(
        "{} after {}, {took}{attempts}",
        Look::of_visit(visit).word(),
        duration(visit.entered_ms)
    )
}

fn many(visits: &[&Visit], axis: &Axis, end_ms: i64) -> Markup {
    let Some(first) = visits.first() else { return html! {} };
    let from_ms = visits.iter().map(|visit| visit.entered_ms).min().unwrap_or(0);
    let to_ms = visits.iter().map(|visit| visit.left_ms.unwrap_or(end_ms)).max().unwrap_or(end_ms);
    let failed = visits.iter().filter(|visit| visit.failure.is_some()).count();
    let open = visits.iter().filter(|visit| visit.outcome == Outcome::Open).count();
    let look = match () {
        () if open > 0 => Look::Running,
        () if failed > 0 => Look::Failed,
        () => Look::Succeeded,
    };
    let words = format!("{}, {failed} failed", count(visits.len(), "visit"));
    html! {
        tr.many {
            th scope="row" class={ "depth-" (first.scope.len().min(6)) } {
                (mark(look, look.word())) (first.state) " "
                span.note { (words) }
            }
            td {
                svg.bars width="100%" height="20" role="img" aria-label=(words) {
                    (axis.marks()) (bar(axis, from_ms, to_ms, "scope"))
                }
            }
            td.number { (duration(to_ms - from_ms)) }
        }
    }
}

/// From times to places, in percent of the width.
struct Axis {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    from_ms: i64,
    to_ms: i64,
    from: f64,
    to: f64,
    is_gap: bool,
}

impl Axis {
    fn new(gaps: Vec<(i64, i64)>, end_ms: i64) -> Self {
        let gap_ms: i64 = gaps.iter().map(|(from, to)| to - from).sum();
        let room = 100.0 - GAP_WIDTH * gaps.len() as f64;
        let scale = room / (end_ms - gap_ms).max(1) as f64;
        let mut pieces = Vec::new();
        let (mut at_ms, mut at) = (0, 0.0);
        let mut push = |to_ms: i64, width: f64, is_gap: bool| {
            pieces.push(Piece { from_ms: at_ms, to_ms, from: at, to: at + width, is_gap });
            (at_ms, at) = (to_ms, at + width);
        };
        let mut last_ms = 0;
        for (from_ms, to_ms) in gaps {
            push(from_ms, (from_ms - last_ms) as f64 * scale, false);
            push(to_ms, GAP_WIDTH, true);
            last_ms = to_ms;
        }
        push(end_ms, (end_ms - last_ms) as f64 * scale, false);
        Self { pieces }
    }

    fn at(&self, ms: i64) -> f64 {
        let piece = self.pieces.iter().find(|piece| ms <= piece.to_ms).or(self.pieces.last());
        let Some(piece) = piece else { return 0.0 };
        let part = (ms - piece.from_ms) as f64 / (piece.to_ms - piece.from_ms).max(1) as f64;
        (piece.from + part * (piece.to - piece.from)).clamp(0.0, 100.0)
    }

    /// Where time is drawn short.
    fn marks(&self) -> Markup {
        html! {
            @for gap in self.pieces.iter().filter(|piece| piece.is_gap) {
                rect.gap x=(percent(gap.from)) width=(percent(gap.to - gap.from)) y="0" height="20" {}
            }
        }
    }

    /// Places and texts below the bars, as far as there is room: the ends first.
    fn labels(&self) -> Vec<(f64, &'static str, String)> {
        let end_ms = self.pieces.last().map_or(0, |piece| piece.to_ms);
        let mut labels = vec![(0.0, "", "0 s".to_owned()), (100.0, "end", duration(end_ms))];
        let gap = |piece: &Piece| {
            ((piece.from + piece.to) / 2.0, "gap", span(piece.to_ms - piece.from_ms))
        };
        let start = |piece: &Piece| (piece.from, "", duration(piece.from_ms));
        let gaps = self.pieces.iter().filter(|piece| piece.is_gap).map(gap);
        let starts =
            self.pieces.iter().filter(|piece| !piece.is_gap && piece.from > 0.0).map(start);
        for label in gaps.chain(starts) {
            let is_free = |(at, ..): &(f64, &str, String)| (at - label.0).abs() >= LABEL_WIDTH;
            if labels.iter().all(is_free) {
                labels.push(label);
            }
        }
        labels
    }

    fn ticks(&self) -> Markup {
        html! {
            svg.ticks width="100%" height="16" aria-hidden="true" {
                @for (at, class, text) in self.labels() {
                    text class=[Some(class).filter(|class| !class.is_empty())] x=(percent(at)) y="12" { (text) }
                }
            }
        }
    }
}

/// When something ran, in order and without overlaps.
fn busy(visits: &[Visit], end_ms: i64) -> Vec<(i64, i64)> {
    let mut times: Vec<(i64, i64)> = Vec::new();
    for visit in visits.iter().filter(|visit| !is_scope(visit)) {
        if visit.attempts.is_empty() {
            let left_ms = visit.left_ms.unwrap_or(end_ms);
            match visit.kind {
                "Wait" => times.extend([(visit.entered_ms, visit.entered_ms), (left_ms, left_ms)]),
                _ => times.push((visit.entered_ms, left_ms)),
            }
        }
        let tried = |attempt: &Attempt| (attempt.scheduled_ms, attempt.ended_ms.unwrap_or(end_ms));
        times.extend(visit.attempts.iter().map(tried));
    }
    times.sort_unstable();
    let mut merged: Vec<(i64, i64)> = Vec::new();
    for (from, to) in times {
        match merged.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => merged.push((from, to)),
        }
    }
    merged
}

/// The longest times in which nothing ran, if they are long beside what did.
fn gaps(busy: &[(i64, i64)], end_ms: i64) -> Vec<(i64, i64)> {
    let ends = busy.iter().map(|(_, to)| *to);
    let begins = busy.iter().skip(1).map(|(from, _)| *from).chain([end_ms]);
    let mut gaps: Vec<(i64, i64)> = ends.zip(begins).filter(|(from, to)| to > from).collect();
    let ran_ms: i64 = end_ms - gaps.iter().map(|(from, to)| to - from).sum::<i64>();
    let limit_ms = ran_ms.max(end_ms / 20).max(1000);
    gaps.retain(|(from, to)| to - from >= limit_ms);
    gaps.sort_by_key(|(from, to)| from - to);
    gaps.truncate(GAPS_MAX);
    gaps.sort_unstable();
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(busy: &[(i64, i64)], end_ms: i64, expected: &[(i64, i64)]) {
        assert_eq!(gaps(busy, end_ms), expected, "{busy:?}");
    }

    #[test]
    fn long_idle_times_are_drawn_short() {
        check(&[(0, 100), (10_100, 10_200)], 10_200, &[(100, 10_100)]);
        check(&[(0, 5000), (6000, 9000)], 9000, &[]);
        check(&[(0, 100)], 60_000, &[(100, 60_000)]);
        check(&[(0, 100), (500, 600)], 600, &[]);
        check(&[], 600, &[]);
    }

    #[test]
    fn the_axis_leaves_nothing_out_and_goes_one_way() {
        let axis = Axis::new(vec![(100, 10_100), (10_200, 50_000)], 50_100);
        let places: Vec<f64> = (0..=50_100).step_by(10).map(|ms| axis.at(ms)).collect();
        assert!(places.windows(2).all(|two| two[0] < two[1]), "{:?}", axis.pieces);
        assert_eq!((places[0], axis.at(50_100)), (0.0, 100.0));
        let gap = axis.at(10_100) - axis.at(100);
        assert!((gap - GAP_WIDTH).abs() < 1e-9, "{gap}");
    }

    #[test]
    fn an_axis_of_nothing() {
        let axis = Axis::new(Vec::new(), 1);
        assert_eq!((axis.at(0), axis.at(1), axis.at(9)), (0.0, 100.0, 100.0));
    }
}
