//! Which page an address stands for. Pages and their streams of changes are found by the same addresses.

use super::form::{Form, decode};

/// A page, with what its address asks for.
#[derive(Debug, Clone)]
pub(super) enum View {
    Overview,
    Executions,
    Execution { machine: String, name: String },
    Machines,
    Machine { name: String },
    Functions,
    Function { name: String },
    Invocations,
    Invocation { id: String },
    DeadLetters,
    About,
}

/// An address below `/console/`.
#[derive(Debug, Clone)]
pub(super) struct Address {
    /// The parts of its path, decoded.
    pub(super) path: Vec<String>,
    pub(super) query: Form,
    /// As it was given, without what an action added to it.
    pub(super) text: String,
}

impl Address {
    /// Nothing if it is not below `/console/`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        let rest = path.strip_prefix("/console")?.trim_matches('/');
        let parts = rest.split('/').filter(|part| !part.is_empty());
        let path = parts.map(|part| decode(part, false)).collect();
        Some(Self { path, query: Form::parse(query), text: without_notice(text) })
    }

    pub(super) fn parts(&self) -> Vec<&str> {
        self.path.iter().map(String::as_str).collect()
    }

    pub(super) fn view(&self) -> Option<View> {
        let own = |text: &&str| (*text).to_owned();
        Some(match &self.parts()[..] {
            [] => View::Overview,
            ["executions"] => View::Executions,
            ["executions", machine, name] => {
                View::Execution { machine: own(machine), name: own(name) }
            }
            ["machines"] => View::Machines,
            ["machines", name] => View::Machine { name: own(name) },
            ["functions"] => View::Functions,
            ["functions", name] => View::Function { name: own(name) },
            ["invocations"] => View::Invocations,
            ["invocations", id] => View::Invocation { id: own(id) },
            ["deadletters"] => View::DeadLetters,
            ["about"] => View::About,
            _ => return None,
        })
    }
}

/// What an action reported once is not reported again by every change of the page.
fn without_notice(text: &str) -> String {
    let Some((path, query)) = text.split_once('?') else { return text.to_owned() };
    let kept: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with("done=")).collect();
    if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Option<&str>) {
        let view = Address::parse(text).and_then(|address| address.view());
        assert_eq!(view.map(|view| format!("{view:?}")).as_deref(), expected, "{text}");
    }

    #[test]
    fn addresses_of_pages() {
        check("/console", Some("Overview"));
        check("/console/", Some("Overview"));
        check("/console/executions?status=FAILED", Some("Executions"));
        check("/console/executions/a%2Fb/c", Some(r#"Execution { machine: "a/b", name: "c" }"#));
        check("/console/nothing", None);
        check("/elsewhere", None);
        check("https://evil.example/console/", None);
    }

    #[test]
    fn notices_are_left_out() {
        let text = |text| Address::parse(text).map(|address| address.text);
        assert_eq!(text("/console/a?done=x&b=c").as_deref(), Some("/console/a?b=c"));
        assert_eq!(text("/console/a?done=x").as_deref(), Some("/console/a"));
    }
}
