//! `everstep invocations show`

use clap::Args;
use everstep_story::invocation::describe;

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Show an invocation: attempts, errors, destinations and what happens next
#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Id of the invocation
    id: String,
}

impl Show {
    pub(in crate::commands) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let found = api.invocation(&self.id)?;
        if as_json {
            display::json(&found)?;
        } else {
            let session = api.session(&found)?;
            let (now_ms, width) = (display::now_ms(), Stream::Data.width());
            Stream::Data.write(&describe(&found, &session, now_ms, width))?;
        }
        Ok(Exit::Good)
    }
}
