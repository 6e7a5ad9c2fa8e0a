//! `everstep machines create`, and what `update` shares with it.

use clap::{Args, ValueEnum};
use everstep_asl::{Format, Source, document};
use serde_json::{Value, json};

use crate::commands::run::own_name;
use crate::definition::{self, Type};
use crate::exit::Exit;
use crate::output::Stream;
use crate::remote::{Api, display};

/// Create a state machine
#[derive(Debug, Args)]
pub(crate) struct Create {
    /// Definition, JSON or YAML; `-` for standard input
    file: String,
    /// Name [default: the file name up to the first dot]
    #[arg(long)]
    name: Option<String>,
    /// Workflow type: `standard` is durable, `express` is fast and short-lived
    #[arg(long = "type", value_enum, default_value_t, value_name = "TYPE")]
    workflow_type: Type,
    #[command(flatten)]
    settings: Settings,
}

/// Settings of a machine besides its definition.
#[derive(Debug, Args)]
pub(super) struct Settings {
    /// Role that tasks receive
    #[arg(long, value_name = "ARN")]
    pub(super) role: Option<String>,
    /// Which execution events are logged
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(super) log: Option<Level>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Level {
    Off,
    All,
    Error,
    Fatal,
}

impl Settings {
    pub(super) fn add_to(self, input: &mut Value) {
        if let Some(role) = self.role {
            input["roleArn"] = json!(role);
        }
        if let Some(level) = self.log {
            input["loggingConfiguration"] = logging(level);
        }
    }
}

/// The API wants a group of CloudWatch Logs wherever anything is logged.
fn logging(level: Level) -> Value {
    let level = match level {
        Level::Off => return json!({ "level": "OFF" }),
        Level::All => "ALL",
        Level::Error => "ERROR",
        Level::Fatal => "FATAL",
    };
    let group = "arn:aws:logs:us-east-1:123456789012:log-group:everstep:*";
    json!({
        "level": level,
        "includeExecutionData": true,
        "destinations": [{ "cloudWatchLogsLogGroup": { "logGroupArn": group } }],
    })
}

impl Create {
    pub(super) fn run(self, api: &Api, as_json: bool) -> anyhow::Result<Exit> {
        let source = definition::read(&self.file)?;
        let Some(text) = checked(&source, self.workflow_type)? else { return Ok(Exit::Problems) };
        let name = self.name.unwrap_or_else(|| own_name(&source).to_owned());
        let mut input = json!({
            "name": name,
            "definition": text,
            "roleArn": "arn:aws:iam::123456789012:role/everstep",
            "type": match self.workflow_type { Type::Standard => "STANDARD", Type::Express => "EXPRESS" },
        });
        self.settings.add_to(&mut input);
        let answer = api.call("CreateStateMachine", &input)?;
        let arn = display::text(&answer, "stateMachineArn");
        display::answer(&answer, as_json, Stream::Data, &arn)
    }
}

/// The definition as JSON, which the API requires. None if it has errors, which are printed.
pub(super) fn checked(source: &Source, workflow_type: Type) -> anyhow::Result<Option<String>> {
    if definition::refused(source, workflow_type)? {
        return Ok(None);
    }
    if source.format() == Format::Json {
        return Ok(Some(source.text().to_owned()));
    }
    let node = document::read(source.text(), source.format())
        .map_err(|error| anyhow::anyhow!("{}: {}", source.name(), error.message))?;
    Ok(Some(node.to_value().to_string()))
}
