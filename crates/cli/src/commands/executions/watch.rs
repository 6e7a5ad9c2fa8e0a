//! `everstep executions watch`

use anyhow::Context as _;
use clap::Args;

use super::{Which, exit};
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::execution_watch::{ExecutionWatch, write_output};
use crate::remote::{Api, display, names};

/// Follow an execution until it ends
///
/// The progress goes to standard error, the output to standard output.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    which: Which,
}

impl Watch {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let arn = self.which.arn(api)?;
        leave_at_interrupt(&arn)?;
        report(ExecutionWatch::new(api, &arn, false), as_json)
    }
}

/// Follows it until it ends; how it ended, and its output.
pub(super) fn report(mut watch: ExecutionWatch<'_>, as_json: bool) -> anyhow::Result<Exit> {
    let story = watch.follow()?;
    let described = watch.describe()?;
    watch.report_end(&story, &described)?;
    if as_json {
        display::json(&described)?;
    } else {
        write_output(&described)?;
    }
    Ok(exit(&described))
}

/// Ctrl-C ends the command, not the execution.
pub(super) fn leave_at_interrupt(arn: &str) -> anyhow::Result<()> {
    let name = names::last(arn).to_owned();
    ctrlc::set_handler(move || {
        let _ = Stream::Story.overwrite(&format!(
            "no longer watching: {name} keeps running; to stop it, run `everstep executions stop {name}`\n"
        ));
        std::process::exit(i32::from(Exit::Interrupted as u8));
    })
    .context("cannot listen for Ctrl-C")
}
