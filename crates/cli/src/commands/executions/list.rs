//! `everstep executions list`

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::commands::group::Limit;
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};
use everstep_source::words;

/// List executions, newest first
#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only executions of this state machine
    #[arg(long, short, value_name = "NAME")]
    machine: Option<String>,
    /// Only executions with this status
    #[arg(long, value_enum, ignore_case = true)]
    status: Option<Status>,
    #[command(flatten)]
    limit: Limit,
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
        let mut executions = Vec::new();
        for machine in self.machines(api)? {
            let mut input = json!({ "stateMachineArn": machine });
            if let Some(status) = self.status {
                input["statusFilter"] = json!(status.name());
            }
            executions.extend(api.list(
                "ListExecutions",
                "executions",
                input,
                self.limit.fetched(),
            )?);
        }
        executions.sort_by_key(|one| std::cmp::Reverse(display::millis(&one["startDate"])));
        let more = self.limit.apply(&mut executions);
        if as_json {
            display::json(&json!({ "executions": executions }))?;
            return Ok(Exit::Good);
        }
        let rows = executions.iter().map(row).collect();
        let header = ["Name", "Machine", "Status", "Started", "Took"];
        display::table(&header, rows, "no executions found")?;
        Stream::Story.write(&more.unwrap_or_default())?;
        Ok(Exit::Good)
    }

    /// Express executions are not kept, and cannot be listed.
    fn machines(&self, api: &Api) -> anyhow::Result<Vec<String>> {
        if let Some(name) = &self.machine {
            return Ok(vec![names::machine(api, name)?]);
        }
        let machines = names::machines(api)?;
        let standard = machines.iter().filter(|machine| machine["type"] == "STANDARD");
        Ok(standard.map(|machine| display::text(machine, "stateMachineArn")).collect())
    }
}

fn row(execution: &Value) -> Vec<String> {
    let machine = display::text(execution, "stateMachineArn");
    vec![
        display::text(execution, "name"),
        names::last(&machine).to_owned(),
        display::text(execution, "status"),
        display::moment(&execution["startDate"]),
        took(execution).map(words::measured).unwrap_or_default(),
    ]
}

/// From start to end.
pub(super) fn took(execution: &Value) -> Option<i64> {
    Some(display::millis(&execution["stopDate"])? - display::millis(&execution["startDate"])?)
}
