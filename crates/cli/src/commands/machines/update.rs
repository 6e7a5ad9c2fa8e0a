//! `everstep machines update`

use anyhow::bail;
use clap::Args;
use serde_json::json;

use super::create::{Settings, checked};
use crate::definition::{self, Type};
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display, names};

/// Update the definition or the settings of a state machine
///
/// Running executions keep the definition they started with.
#[derive(Debug, Args)]
pub(crate) struct Update {
    /// Name or ARN of the state machine
    name: String,
    /// New definition, JSON or YAML; `-` for standard input
    file: Option<String>,
    #[command(flatten)]
    settings: Settings,
}

impl Update {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        if self.file.is_none() && self.settings.role.is_none() && self.settings.log.is_none() {
            bail!("nothing to update: specify FILE, --role or --log");
        }
        let arn = names::machine(api, &self.name)?;
        let mut input = json!({ "stateMachineArn": arn });
        if let Some(file) = &self.file {
            let source = definition::read(file)?;
            let machine = api.call("DescribeStateMachine", &json!({ "stateMachineArn": arn }))?;
            let express = machine["type"] == "EXPRESS";
            let workflow_type = if express { Type::Express } else { Type::Standard };
            let Some(text) = checked(&source, workflow_type)? else { return Ok(Exit::Problems) };
            input["definition"] = json!(text);
        }
        self.settings.add_to(&mut input);
        let answer = api.call("UpdateStateMachine", &input)?;
        display::answer(&answer, as_json, Stream::Data, &arn)
    }
}
