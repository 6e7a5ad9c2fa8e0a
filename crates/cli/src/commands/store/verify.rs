//! `everstep store verify`

use std::path::PathBuf;

use clap::Args;
use everstep_server::offline::{self, Verified};
use everstep_source::words::count;

use crate::exit::Exit;
use crate::output::Stream;

/// Read everything in a data directory, and name what is damaged
///
/// Every record is decoded, and the journal of every execution is folded, as a server does when it needs it.
#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Data directory
    #[arg(value_name = "DIR")]
    data: PathBuf,
}

impl Verify {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let mut damaged = 0;
        let verified = offline::verify(&self.data, &mut |damage| {
            damaged += 1;
            let _ = Stream::Data.write(&format!("damaged: {damage}\n"));
        })?;
        Stream::Data.write(&summary(&verified))?;
        if damaged == 0 {
            Stream::Data.write("no damage found\n")?;
            return Ok(Exit::Good);
        }
        Stream::Story.write(&format!("{} damaged\n", count(damaged, "row")))?;
        Ok(Exit::Problems)
    }
}

fn summary(verified: &Verified) -> String {
    let Verified { executions, invocations, catalog } = verified;
    let number =
        |number: u64, what: &str| count(usize::try_from(number).unwrap_or(usize::MAX), what);
    let removal = match executions.in_removal {
        0 => String::new(),
        removed => format!(" ({removed} being removed)"),
    };
    format!(
        "{}{removal} with {}; {} and {}; {} of lists and timers, {} of the catalog\n",
        number(executions.executions, "execution"),
        number(executions.steps, "step"),
        number(invocations.invocations, "invocation"),
        number(invocations.sessions, "session"),
        number(executions.entries + invocations.entries, "row"),
        number(*catalog, "row"),
    )
}
