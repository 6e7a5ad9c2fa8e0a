//! `everstep invocations`: the invocations of functions that a server keeps.

mod cancel;
mod list;
mod quarantined;
mod release;
mod show;

pub(super) use list::last_error;
pub(super) use show::Show;

super::group::group! {
    /// List, show, cancel and release invocations of functions
    Invocations {
        List(list::List),
        Show(Show),
        Cancel(cancel::Cancel),
        Quarantined(quarantined::Quarantined),
        Release(release::Release),
    }
    AFTER_HELP
}

const AFTER_HELP: &str = "\
Examples:
  everstep invocations list --function charge --state waiting
  everstep invocations list --error RateLimitError --since 2h
  everstep invocations show ID        every attempt, and what happens next
  everstep invocations cancel ID      no more retries
  everstep invocations quarantined    those that ended the server
  everstep invocations release ID     let such a one continue

The server keeps asynchronous invocations, those of triggers, and those with a
key. It does not keep synchronous calls without a key. Invocations that failed
for good are dead letters: see `everstep deadletters`.

Exit codes:
  0  success
  2  invalid arguments, no connection, or the server rejected the request";
