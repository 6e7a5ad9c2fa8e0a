//! A whole machine: its states in the order in which they run, and where errors end.

use std::fmt::Write as _;

use everstep_asl::Machine;
use everstep_asl::model::{Choice, Kind, State, Transition};
use everstep_graph::definition::{condition, detail};

use super::super::flow;
use super::super::machine::MachineFacts;
use super::super::words;
use super::wrapped;
use everstep_source::words::count;

/// The whole page of a machine.
pub fn machine(machine: &Machine, facts: &MachineFacts, file: &str, width: usize) -> String {
    let title = facts.comment.as_ref().map_or(file.to_owned(), |about| format!("{file}: {about}"));
    let mut page = Page { text: String::new(), width };
    page.line(0, &title);
    let states = count(facts.states.len(), "state");
    let language = facts.query_language;
    page.line(0, &format!("{states}, in {language}; starts at {}", facts.start_at));
    page.scope(machine, 0);
    page.errors(facts);
    page.text.push('\n');
    page.line(0, &longest(facts));
    page.text
}

struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn line(&mut self, indent: usize, text: &str) {
        let hanging = if indent == 0 { 0 } else { 2 };
        for part in wrapped(text, self.width.saturating_sub(indent), hanging).lines() {
            let _ = writeln!(self.text, "{:indent$}{part}", "");
        }
    }

    fn scope(&mut self, machine: &Machine, indent: usize) {
        for (at, state) in flow::order(machine).into_iter().enumerate() {
            if at > 0 || indent == 0 {
                self.text.push('\n');
            }
            self.state(state, indent);
        }
    }

    fn state(&mut self, state: &State, indent: usize) {
        let detail = detail(state).map(|detail| format!(", {detail}")).unwrap_or_default();
        self.line(indent, &format!("{}: {}{detail}", state.name, state.kind.name()));
        let indent = indent + 2;
        self.inner(state, indent);
        match (state.transition(), &state.kind) {
            (Some(Transition::Next(next)), _) => self.line(indent, &format!("→ {}", next.name)),
            (Some(Transition::End), _) => self.line(indent, "→ end"),
            (None, Kind::Choice(choice)) => self.choice(choice, indent),
            (None, _) => {}
        }
        for (index, retrier) in state.retry().iter().enumerate() {
            let names = retrier.error_equals.join(", ");
            if retrier.max_attempts == 0 {
                self.line(indent, &format!("no retries on {names}"));
                continue;
            }
            let how = words::retrier(retrier, index);
            self.line(indent, &format!("retries on {names}: {how}"));
        }
        for catcher in state.catch() {
            let names = catcher.error_equals.join(", ");
            self.line(indent, &format!("on {names} → {}", catcher.next.name));
        }
    }

    fn inner(&mut self, state: &State, indent: usize) {
        match &state.kind {
            Kind::Parallel(parallel) => {
                for (branch, number) in parallel.branches.iter().zip(1..) {
                    self.line(indent, &format!("branch {number}"));
                    self.scope(branch, indent + 2);
                }
            }
            Kind::Map(map) => {
                self.line(indent, "for each item");
                self.scope(&map.processor, indent + 2);
            }
            _ => {}
        }
    }

    fn choice(&mut self, choice: &Choice, indent: usize) {
        for rule in &choice.rules {
            let condition = condition(&rule.condition);
            self.line(indent, &format!("if {condition} → {}", rule.next.name));
        }
        match &choice.default {
            Some(default) => self.line(indent, &format!("otherwise → {}", default.name)),
            None => self.line(indent, "otherwise fails with States.NoChoiceMatched"),
        }
    }

    /// The states whose errors nothing catches.
    fn errors(&mut self, facts: &MachineFacts) {
        let mut uncaught: Vec<&str> = Vec::new();
        for state in facts.states.iter().filter(|state| state.kind == "Task") {
            let ends = state.errors.iter().any(|error| {
                let ordinary = ["States.TaskFailed", "States.Timeout"].contains(&&*error.error);
                ordinary && error.execution_fails
            });
            if ends {
                uncaught.push(&state.name);
            }
        }
        self.text.push('\n');
        if uncaught.is_empty() {
            self.line(0, "Every error of a task is caught, except States.Runtime, which always ends the execution.");
        } else {
            let names = uncaught.join(", ");
            self.line(
                0,
                &format!(
                    "Errors of these tasks can end the execution, because their Catch does not cover them all: {names}."
                ),
            );
        }
    }
}

fn longest(facts: &MachineFacts) -> String {
    let mut text = format!("Duration: {}", words::bound(&facts.longest.specification));
    if facts.longest.aws != facts.longest.specification {
        let _ = write!(
            text,
            " with the specification's default timeout of 60 s; {} with the 99,999,999 s of AWS",
            words::bound(&facts.longest.aws)
        );
    }
    text
}
