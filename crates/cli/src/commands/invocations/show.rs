//! `everstep invocations show`

use clap::Args;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, invocation, shown};

/// Show one: every attempt with its error, who is told of it, and what happens next
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Its id
    id: String,
}

impl Show {
    pub(in crate::commands) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let found = invocation::fetch(api, &self.id)?;
        if as_json {
            shown::json(&found)?;
        } else {
            let session = invocation::fetch_session(api, &found)?;
            Stream::Data.write(&invocation::told(&found, &session, shown::now_ms()))?;
        }
        Ok(Exit::Good)
    }
}
