//! `everstep invocations cancel`

use clap::Args;
use serde_json::json;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, shown};

/// End an invocation: the attempt that runs is killed, and there is no other
///
/// It succeeds no more and is no dead letter; nobody is told of it.
#[derive(Debug, Args)]
pub(crate) struct Cancel {
    /// Its id
    id: String,
}

impl Cancel {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let answer = api.operate("CancelInvocation", &json!({ "id": self.id }))?;
        if as_json {
            shown::json(&answer)?;
        } else {
            Stream::Story.write(&format!("{} is cancelled\n", self.id))?;
        }
        Ok(Exit::Good)
    }
}
