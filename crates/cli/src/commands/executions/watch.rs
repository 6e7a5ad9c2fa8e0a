//! `everstep executions watch`

use anyhow::Context as _;
use clap::Args;
use serde_json::Value;

use super::{Which, exit};
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::following::{Following, write_output};
use crate::remote::{Api, names, shown};

/// Tell what an execution does, as it does it, until it ends
///
/// The story goes to standard error, the output to standard output, as with `everstep run`.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    which: Which,
}

impl Watch {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        leave_at_interrupt(&arn)?;
        let mut following = Following::begin(api, &arn, false)?;
        let described = following.until_it_ends()?;
        tell(&described, &mut following, as_json)?;
        Ok(exit(&described))
    }
}

/// How it ended, and its output.
pub(super) fn tell(
    described: &Value,
    following: &mut Following<'_>,
    as_json: bool,
) -> anyhow::Result<()> {
    following.tell_end(described)?;
    if as_json { shown::json(described) } else { write_output(described) }
}

/// What runs elsewhere goes on when nobody looks.
pub(super) fn leave_at_interrupt(arn: &str) -> anyhow::Result<()> {
    let name = names::last(arn).to_owned();
    ctrlc::set_handler(move || {
        let line = if Stream::Story.is_live() { "\r\x1b[2K" } else { "" };
        let _ = Stream::Story.write(&format!(
            "{line}no longer watching: {name} goes on; `everstep executions stop {name}` would stop it\n"
        ));
        std::process::exit(i32::from(Exit::Interrupted as u8));
    })
    .context("cannot listen for Ctrl-C")
}
