//! `everstep deadletters list`

use clap::Args;
use serde_json::json;

use super::which::{self, Filter};
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, shown};

/// List dead letters, the latest first
#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    filter: Filter,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

impl List {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let max = usize::try_from(self.limit)?;
        // One more than is shown, so that it is known whether there are more.
        let mut letters = which::list(api, self.filter.to_json(), max + 1)?;
        let more = letters.len() > max;
        letters.truncate(max);
        if as_json {
            shown::json(&json!({ "invocations": letters }))?;
            return Ok(Exit::Good);
        }
        which::table(&letters)?;
        if more {
            Stream::Story.write(&format!("there are more: --limit shows more than {max}\n"))?;
        }
        Ok(Exit::Good)
    }
}
