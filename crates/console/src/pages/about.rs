//! What this server is.

use maud::html;

use crate::page::{Fragment, Page, Section};
use crate::parts::{command, facts};

pub struct About<'a> {
    pub version: &'a str,
    pub endpoint: &'a str,
    pub region: &'a str,
    pub account: &'a str,
    pub dialect: &'a str,
    pub is_protected: bool,
    pub store: &'a str,
    pub functions: Option<String>,
}

#[must_use]
pub fn page(of: &About<'_>) -> Page {
    let mut all = vec![
        ("Version", html! { (of.version) }),
        ("Endpoint", html! { code { (of.endpoint) } }),
        ("Region", html! { (of.region) }),
        ("Account", html! { (of.account) }),
        ("Dialect", html! { code { (of.dialect) } }),
        ("Store", html! { (of.store) }),
        (
            "Access keys",
            html! { @if of.is_protected { "required" } @else { "none: open to this machine" } },
        ),
    ];
    all.extend(of.functions.as_ref().map(|limits| ("Limits of functions", html! { (limits) })));
    let aws = format!("aws stepfunctions --endpoint-url {} list-state-machines", of.endpoint);
    let cli = format!("everstep executions list --endpoint {}", of.endpoint);
    let content = html! {
        h1 { "About this server" }
        section.card { (facts(&all)) }
        section.card {
            h2 { "Use it" }
            ul.todo {
                li { "from the AWS command line: " (command(&aws)) }
                li { "from everstep's: " (command(&cli)) }
                li { "metrics for Prometheus: " code { (of.endpoint) "/metrics" } }
            }
            p.note { "Press " kbd { "?" } " on any page for its shortcuts." }
        }
    };
    Page {
        title: "About".to_owned(),
        section: Section::None,
        class: "list",
        fragments: vec![Fragment::new("content", content)],
        is_live: false,
    }
}
