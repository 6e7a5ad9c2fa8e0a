//! `everstep executions list`

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, names, shown};
use everstep_source::words;

/// List executions, the latest first
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Of this state machine only
    #[arg(long, short, value_name = "NAME")]
    machine: Option<String>,
    /// In this status only
    #[arg(long, value_enum, ignore_case = true)]
    status: Option<Status>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Status {
    Running,
    Succeeded,
    Failed,
    TimedOut,
    Aborted,
    PendingRedrive,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Succeeded => "SUCCEEDED",
            Self::Failed => "FAILED",
            Self::TimedOut => "TIMED_OUT",
            Self::Aborted => "ABORTED",
            Self::PendingRedrive => "PENDING_REDRIVE",
        }
    }
}

impl List {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let max = usize::try_from(self.limit)?;
        let mut executions = Vec::new();
        // One more than is shown, so that it is known whether there are more.
        for machine in self.machines(api)? {
            let mut input = json!({ "stateMachineArn": machine });
            if let Some(status) = self.status {
                input["statusFilter"] = json!(status.name());
            }
            executions.extend(api.list("ListExecutions", "executions", input, max + 1)?);
        }
        executions.sort_by_key(|one| std::cmp::Reverse(shown::millis(&one["startDate"])));
        let more = executions.len() > max;
        executions.truncate(max);
        if as_json {
            shown::json(&json!({ "executions": executions }))?;
            return Ok(Exit::Good);
        }
        let rows = executions.iter().map(row).collect();
        let header = ["Name", "Machine", "Status", "Started", "Took"];
        shown::table(&header, rows, "there are no such executions")?;
        if more {
            Stream::Story.write(&format!("there are more: --limit shows more than {max}\n"))?;
        }
        Ok(Exit::Good)
    }

    /// Express executions are not kept, and cannot be listed.
    fn machines(&self, api: &Api) -> anyhow::Result<Vec<String>> {
        if let Some(name) = &self.machine {
            return Ok(vec![names::machine(api, name)?]);
        }
        let machines = names::machines(api)?;
        let standard = machines.iter().filter(|machine| machine["type"] == "STANDARD");
        Ok(standard.map(|machine| shown::text(machine, "stateMachineArn")).collect())
    }
}

fn row(execution: &Value) -> Vec<String> {
    let machine = shown::text(execution, "stateMachineArn");
    vec![
        shown::text(execution, "name"),
        names::last(&machine).to_owned(),
        shown::text(execution, "status"),
        shown::moment(&execution["startDate"]),
        took(execution).map(words::measured).unwrap_or_default(),
    ]
}

/// From start to end.
pub(super) fn took(execution: &Value) -> Option<i64> {
    Some(shown::millis(&execution["stopDate"])? - shown::millis(&execution["startDate"])?)
}
