//! A page: its fragments, and the document around them.

use maud::{DOCTYPE, Markup, html};

use crate::assets::{ICON, SCRIPT, STYLE};
use crate::url;

/// A page as a list of fragments, each of which can be replaced while the page is open.
pub struct Page {
    pub title: String,
    pub section: Section,
    /// The class of the page, for its layout.
    pub class: &'static str,
    pub fragments: Vec<Fragment>,
    /// The page is kept up to date while it is visible.
    pub is_live: bool,
}

pub struct Fragment {
    /// The id of the element that holds it.
    pub id: &'static str,
    pub html: Markup,
}

impl Fragment {
    pub(crate) fn new(id: &'static str, html: Markup) -> Self {
        Self { id, html }
    }
}

/// The entry of the navigation that a page belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    Overview,
    Executions,
    Machines,
    Functions,
    Invocations,
    DeadLetters,
    None,
}

/// What every page has around it.
#[derive(Debug, Clone, Default)]
pub struct Site {
    pub now_ms: i64,
    /// The access key that is logged in.
    pub user: Option<String>,
    /// What the request before this one did.
    pub notice: Option<Notice>,
    /// The address of the page itself, for the stream of its changes.
    pub address: String,
}

/// What an action did. Only these can be said: an address cannot put words into a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    Started,
    Stopped,
    Redriven,
    LetterRedriven,
    LettersRedriven,
    Cancelled,
    Invoked,
}

impl Notice {
    const ALL: [(Self, &'static str, &'static str); 7] = [
        (Self::Started, "started", "Execution started."),
        (Self::Stopped, "stopped", "Execution stopped."),
        (Self::Redriven, "redriven", "Redriven: the execution continues from where it failed."),
        (Self::LetterRedriven, "letter-redriven", "Dead letter redriven: it runs again."),
        (Self::LettersRedriven, "letters-redriven", "Dead letters redriven: they run again."),
        (Self::Cancelled, "cancelled", "Invocation cancelled."),
        (Self::Invoked, "invoked", "Invocation accepted."),
    ];

    /// As an address has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(notice, ..)| *notice == self).map_or("", |(_, name, _)| name)
    }

    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(_, own, _)| *own == name).map(|(notice, ..)| *notice)
    }

    fn text(self) -> &'static str {
        Self::ALL.iter().find(|(notice, ..)| *notice == self).map_or("", |(.., text)| text)
    }
}

const NAVIGATION: [(Section, &str, &str); 6] = [
    (Section::Overview, "", "Overview"),
    (Section::Executions, "executions", "Executions"),
    (Section::Machines, "machines", "State machines"),
    (Section::Functions, "functions", "Functions"),
    (Section::Invocations, "invocations", "Invocations"),
    (Section::DeadLetters, "deadletters", "Dead letters"),
];

/// The fragments as they are sent: by the id of their element.
pub fn fragments(page: Page) -> impl Iterator<Item = (&'static str, String)> {
    page.fragments.into_iter().map(|fragment| (fragment.id, fragment.html.into_string()))
}

/// The whole document.
#[must_use]
pub fn document(page: &Page, site: &Site) -> String {
    let asset = |name: &str, version: &str| format!("{}assets/{name}?v={version}", url::ROOT);
    let live = page.is_live.then_some(site.address.as_str());
    let document = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (page.title) " · everstep" }
                link rel="icon" type="image/svg+xml" href=(asset("icon.svg", &ICON.version));
                link rel="stylesheet" href=(asset("style.css", &STYLE.version));
                script src=(asset("script.js", &SCRIPT.version)) defer {}
            }
            body data-now=(site.now_ms) data-live=[live] {
                a.skip href="#main" { "Skip to content" }
                (header(page.section, site))
                main #main class=(page.class) {
                    p #offline .banner role="alert" hidden { "Connection lost. Reconnecting…" }
                    @if let Some(notice) = site.notice {
                        p.banner.good role="status" { (notice.text()) }
                    }
                    @for fragment in &page.fragments {
                        div id=(fragment.id) { (fragment.html) }
                    }
                }
                (help())
            }
        }
    };
    document.into_string()
}

fn header(section: Section, site: &Site) -> Markup {
    html! {
        header.bar {
            a.brand href=(url::ROOT) aria-label="everstep, overview" {
                svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true" {
                    path d="M3 19h6v-5h6V9h6V4" {}
                }
                "everstep"
            }
            nav aria-label="Main" {
                @for (own, path, name) in NAVIGATION {
                    a href={ (url::ROOT) (path) } aria-current=[(own == section).then_some("page")] {
                        (name)
                    }
                }
            }
            form.jump role="search" action={ (url::ROOT) "jump" } {
                input #search type="search" name="q" placeholder="Go to name, ARN or id"
                    aria-label="Go to an execution, a state machine or an invocation"
                    autocomplete="off" spellcheck="false";
            }
            div.session {
                button #zone type="button" hidden title="Times in UTC or in local time" { "UTC" }
                @if let Some(user) = &site.user {
                    form method="post" action={ (url::ROOT) "logout" } {
                        button title={ "logged in as " (user) } { "Log out" }
                    }
                }
                a href={ (url::ROOT) "about" } { "About" }
            }
        }
    }
}

/// The shortcuts of the script.
fn help() -> Markup {
    let keys = [
        ("/", "search"),
        ("j  k", "next and previous row"),
        ("g o", "overview"),
        ("g e", "executions"),
        ("g m", "state machines"),
        ("g d", "dead letters"),
        ("?", "this help"),
    ];
    html! {
        dialog #help aria-label="Keyboard shortcuts" {
            h2 { "Keyboard shortcuts" }
            dl.keys {
                @for (key, what) in keys {
                    div { dt { kbd { (key) } } dd { (what) } }
                }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}
