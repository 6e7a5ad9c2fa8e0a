//! Pages with a message: what was not found, what was refused, and the login.

use maud::html;

use crate::page::{Fragment, Page, Section};
use crate::url;

/// A request that failed: a title, why, and where to go.
#[must_use]
pub fn page(title: &str, message: &str, back: Option<&str>) -> Page {
    let content = html! {
        section.card.message {
            h1 { (title) }
            p { (message) }
            p {
                @if let Some(back) = back { a.button href=(back) { "Back" } " " }
                a.button href=(url::ROOT) { "Overview" }
            }
        }
    };
    plain(title, content)
}

/// Asks for an access key. `refused` says why the last one was.
#[must_use]
pub fn login(next: &str, refused: Option<&str>) -> Page {
    let content = html! {
        section.card.message {
            h1 { "Log in" }
            p { "This server has access keys. Use one of them: what you do is logged with its id." }
            @if let Some(refused) = refused { p.banner role="alert" { (refused) } }
            form.stack method="post" action={ (url::ROOT) "login" } {
                input type="hidden" name="next" value=(next);
                label { "Access key id" input name="id" required autofocus autocomplete="username"; }
                label {
                    "Secret access key"
                    input name="secret" type="password" required autocomplete="current-password";
                }
                button.primary { "Log in" }
            }
        }
    };
    plain("Log in", content)
}

fn plain(title: &str, content: maud::Markup) -> Page {
    Page {
        title: title.to_owned(),
        section: Section::None,
        class: "narrow",
        fragments: vec![Fragment::new("content", content)],
        is_live: false,
    }
}
