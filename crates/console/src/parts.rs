//! What pages share: statuses, facts, commands, forms.

use everstep_story::{Outcome, Standing, Visit};
use maud::{Markup, html};

/// How something fares. Each has a word, a shape and a colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    Running,
    Retrying,
    Waiting,
    Succeeded,
    Caught,
    Failed,
    TimedOut,
    Aborted,
}

impl Look {
    pub(crate) fn of(standing: Standing) -> Self {
        match standing {
            Standing::Running => Self::Running,
            Standing::Succeeded => Self::Succeeded,
            Standing::Failed => Self::Failed,
            Standing::TimedOut => Self::TimedOut,
            Standing::Aborted => Self::Aborted,
        }
    }

    pub(crate) fn of_visit(visit: &Visit) -> Self {
        match visit.outcome {
            Outcome::Open if visit.retry_due_ms().is_some() => Self::Retrying,
            Outcome::Open if visit.kind == "Wait" => Self::Waiting,
            Outcome::Open => Self::Running,
            Outcome::Succeeded => Self::Succeeded,
            Outcome::Caught => Self::Caught,
            Outcome::Failed => Self::Failed,
            Outcome::Aborted => Self::Aborted,
        }
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Running | Self::Waiting => "running",
            Self::Retrying => "retrying",
            Self::Succeeded => "succeeded",
            Self::Caught => "caught",
            Self::Failed | Self::TimedOut => "failed",
            Self::Aborted => "aborted",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Running => "Running",
            Self::Retrying => "Retrying",
            Self::Waiting => "Waiting",
            Self::Succeeded => "Succeeded",
            Self::Caught => "Caught",
            Self::Failed => "Failed",
            Self::TimedOut => "Timed out",
            Self::Aborted => "Aborted",
        }
    }

    /// In a square of sixteen by sixteen.
    fn shape(self) -> &'static str {
        match self {
            Self::Running => "M6 4.5 11.5 8 6 11.5z",
            Self::Retrying => "M11.5 6.5A4 4 0 1 0 11.8 9.6M12 3.5V7H8.5",
            Self::Waiting | Self::TimedOut => "M8 4.5V8l2.5 1.5",
            Self::Succeeded => "M4.5 8.3 7 10.8 11.7 5.4",
            Self::Caught => "M5 4.5V8C5 10 6.5 10.3 11 10.3M8.8 8 11 10.3 8.8 12.5",
            Self::Failed => "M5.2 5.2l5.6 5.6M10.8 5.2l-5.6 5.6",
            Self::Aborted => "M5.5 5.5h5v5h-5z",
        }
    }
}

/// `✓ Succeeded`
pub(crate) fn status(look: Look) -> Markup {
    html! { span class={ "status " (look.class()) } { (icon(look)) (look.word()) } }
}

/// The shape alone; the word is there for those who cannot see it.
pub(crate) fn icon(look: Look) -> Markup {
    html! {
        svg class={ "shape " (look.class()) } viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" {
            circle cx="8" cy="8" r="7" {}
            path d=(look.shape()) {}
        }
    }
}

/// The shape with its word as a tooltip.
pub(crate) fn mark(look: Look, title: &str) -> Markup {
    html! { span.only-shape title=(title) { (icon(look)) span.hidden { (title) } } }
}

/// Facts beside each other.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in facts {
                div { dt { (name) } dd { (value) } }
            }
        }
    }
}

/// A command that a user can copy.
pub(crate) fn command(text: &str) -> Markup {
    html! {
        span.command {
            code { (text) }
            button.copy type="button" data-copy=(text) aria-label="Copy the command" hidden { "Copy" }
        }
    }
}

/// A text that a user can copy, such as an ARN.
pub(crate) fn copyable(text: &str, what: &str) -> Markup {
    html! {
        span.copyable {
            code { (text) }
            button.copy type="button" data-copy=(text) aria-label={ "Copy " (what) } hidden { "Copy" }
        }
    }
}

/// A button that changes something, by a POST.
pub(crate) fn action(address: &str, label: &str, class: &str) -> Markup {
    html! { form.action method="post" action=(address) { button class=(class) { (label) } } }
}

/// What is said where there is nothing to show.
pub(crate) fn nothing(what: &str) -> Markup {
    html! { p.nothing { (what) } }
}

pub(crate) fn card(title: &str, content: Markup) -> Markup {
    html! { section.card { h2 { (title) } (content) } }
}

/// `1 attempt`, `2 attempts`, `12,345 events`
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// `12,345`
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        let check = |number, expected: &str| assert_eq!(grouped(number), expected);
        check(0, "0");
        check(999, "999");
        check(1000, "1,000");
        check(1_234_567, "1,234,567");
    }
}
