//! `everstep deadletters`: the invocations of a server that failed for good.

mod list;
mod purge;
mod redrive;
mod which;

use super::invocations::Show;

super::group::group! {
    /// List, show, redrive and purge dead letters: invocations that failed for good
    DeadLetters {
        List(list::List),
        Show(Show),
        Redrive(redrive::Redrive),
        Purge(purge::Purge),
    }
    AFTER_HELP
}

const AFTER_HELP: &str = "\
Examples:
  everstep deadletters list --since 2h
  everstep deadletters show ID
  everstep deadletters redrive ID
  everstep deadletters redrive --error RateLimitError --since 2h --dry-run
  everstep deadletters redrive --error RateLimitError --since 2h --spacing 1s
  everstep deadletters redrive ID --payload @fixed.json --latest
  everstep deadletters purge --function charge --error ValidationError

A dead letter keeps its event and every attempt. Redriving it starts a new
invocation with all its retries, exactly once, even if the server is killed in
between. The dead letter stays and links to the new invocation.

Exit codes:
  0  success
  2  invalid arguments, unreadable file, no connection, or the server rejected
     the request";
