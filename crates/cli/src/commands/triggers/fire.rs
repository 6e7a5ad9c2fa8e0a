//! `everstep triggers fire`

use clap::Args;

use crate::exit::Exit;
use crate::input;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Fire a trigger now, whatever its schedule and its state
///
/// The invocation has the trigger's retries and destinations, and counts among its runs.
#[derive(Debug, Args)]
pub(crate) struct Fire {
    /// Name of the trigger
    name: String,
    /// Event: JSON, @FILE, or - for standard input [default: that of a timer]
    #[arg(long, value_name = "JSON|@FILE|-")]
    payload: Option<String>,
}

impl Fire {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let payload = self.payload.map(|payload| input::read("--payload", &payload)).transpose()?;
        let answer = super::ask(api, "FireTrigger", &self.name, payload)?;
        let id = display::text(&answer, "invocationId");
        display::answer(&answer, as_json, Stream::Data, &id)
    }
}
