//! `everstep invocations cancel`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Cancel an invocation: kill the running attempt, and do not retry
///
/// A cancelled invocation does not become a dead letter, and no destination is notified.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// Id of the invocation
    id: String,
}

impl Cancel {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.operate("CancelInvocation", &json!({ "id": self.id }))?;
        let line = format!("cancelled {}", self.id);
        display::answer(&answer, as_json, Stream::Story, &line)
    }
}
