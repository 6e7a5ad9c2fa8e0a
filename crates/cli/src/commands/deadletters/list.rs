//! `everstep deadletters list`

use clap::Args;
use serde_json::json;

use super::which::{self, Filter};
use crate::commands::group::Limit;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// List dead letters, newest first
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    limit: Limit,
}

impl List {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let mut letters = which::list(api, self.filter.to_json(), self.limit.fetched())?;
        let more = self.limit.apply(&mut letters);
        if as_json {
            display::json(&json!({ "invocations": letters }))?;
            return Ok(Exit::Good);
        }
        which::table(&letters)?;
        Stream::Story.write(&more.unwrap_or_default())?;
        Ok(Exit::Good)
    }
}
