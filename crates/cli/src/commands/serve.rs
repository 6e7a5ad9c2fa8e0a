//! `everstep serve`: the arguments of a server.

use std::path::PathBuf;

use clap::Args;
use everstep_server::{Given, Mode};

use crate::exit::Exit;
use crate::frontend;
use crate::template_parameters::TemplateParameters;

/// Serve the AWS Step Functions API
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Serve {
    #[command(flatten)]
    common: Common,

    /// Data directory; created if it does not exist [default: everstep in the user's state directory]
    #[arg(long, env = "EVERSTEP_DATA", value_name = "DIR")]
    data: Option<PathBuf>,

    /// Keep everything in this PostgreSQL database instead: postgres://USER@HOST/DATABASE
    #[arg(long, env = "EVERSTEP_STORE", value_name = "URL", hide_env_values = true)]
    store: Option<String>,

    /// Region in ARNs [default: us-east-1]
    #[arg(long, env = "EVERSTEP_REGION")]
    region: Option<String>,

    /// Account in ARNs, twelve digits [default: 123456789012]
    #[arg(long, env = "EVERSTEP_ACCOUNT")]
    account: Option<String>,

    /// Days to keep executions after they end, at least 1 [default: 90]
    #[arg(long, env = "EVERSTEP_RETENTION_DAYS", value_name = "DAYS")]
    retention_days: Option<u32>,

    /// Size of the data directory beyond which new work is refused, such as 20G [default: what the disk has]
    #[arg(long, env = "EVERSTEP_MAX_DISK", value_name = "SIZE")]
    max_disk: Option<String>,

    /// TLS certificates, PEM
    #[arg(long, env = "EVERSTEP_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// TLS private key, PEM
    #[arg(long, env = "EVERSTEP_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Write the log events of executions to this file, one line of JSON each; `-` for standard output
    #[arg(long, env = "EVERSTEP_LOG_EVENTS", value_name = "FILE")]
    log_events: Option<String>,

    /// Functions and state machines to serve: an everstep.yaml or SAM template, or the folder that contains it
    #[arg(long, env = "EVERSTEP_FUNCTIONS", value_name = "PATH")]
    functions: Option<PathBuf>,

    /// Mock file of AWS Step Functions Local; to run a test case, start an execution of ARN#TestCase
    #[arg(long, env = "SFN_MOCK_CONFIG", value_name = "FILE")]
    mock_config: Option<PathBuf>,

    /// Settings file, TOML; flags and environment variables override it
    #[arg(long, env = "EVERSTEP_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

// The arguments of every server. (A doc comment would become the help of the commands that flatten this.)
#[derive(Debug, Args)]
pub(super) struct Common {
    /// Address and port to listen on [default: 127.0.0.1:8083]
    #[arg(long, env = "EVERSTEP_LISTEN", value_name = "ADDRESS")]
    listen: Option<String>,

    /// Another host name under which a server on loopback is reached, such as that of a proxy; repeatable
    #[arg(long, env = "EVERSTEP_ALLOW_HOST", value_name = "NAME", value_delimiter = ',')]
    allow_host: Vec<String>,

    /// Dialect of definitions: `spec` follows the specification, `aws` the service [default: spec]
    #[arg(long, env = "EVERSTEP_DIALECT", value_name = "DIALECT")]
    dialect: Option<String>,

    /// Endpoint that invokes Lambda functions which are not configured here
    #[arg(long, env = "LAMBDA_ENDPOINT", value_name = "URL")]
    lambda_endpoint: Option<String>,

    /// Whether tasks may have http:// and https:// resources, `allow` or `refuse` [default: allow on loopback]
    #[arg(long, env = "EVERSTEP_HTTP_TASKS", value_name = "CHOICE")]
    http_tasks: Option<String>,

    /// Whether there is a console at /console/, `on` or `off` [default: on]
    #[arg(long, env = "EVERSTEP_CONSOLE", value_name = "CHOICE")]
    console: Option<String>,

    /// Scale Wait states and the delays of retries by this factor, such as 0.01
    #[arg(long, env = "WAIT_TIME_SCALE", value_name = "FACTOR", allow_negative_numbers = true)]
    wait_time_scale: Option<f64>,

    #[command(flatten)]
    pub(super) parameters: TemplateParameters,
}

impl Common {
    pub(super) fn given(self) -> Given {
        Given {
            listen: self.listen,
            allowed_hosts: self.allow_host,
            dialect: self.dialect,
            lambda_endpoint: self.lambda_endpoint,
            http_tasks: self.http_tasks,
            console: self.console,
            wait_time_scale: self.wait_time_scale,
            ..Given::default()
        }
    }
}

const AFTER_HELP: &str = "\
Examples:
  everstep serve
  aws stepfunctions --endpoint-url http://127.0.0.1:8083 list-state-machines
  everstep serve --listen 127.0.0.1:9000 --data ./data --dialect aws
  everstep serve --functions everstep.yaml
  everstep serve --store postgres://everstep@db.example.com/everstep
  everstep serve --log-events events.jsonl
  everstep serve --mock-config mocks.json --wait-time-scale 0

The settings file uses the names of the flags:
  listen = \"127.0.0.1:8083\"
  retention-days = 30
  [access-keys]
  AKIAEXAMPLE = \"its secret\"

EVERSTEP_ACCESS_KEYS takes access keys as ID:SECRET, separated by commas. They
are optional on a loopback address and required on any other. With access keys,
every request must be signed with one of them, as all AWS SDKs do.

SIGTERM and Ctrl-C stop the server in order: it answers open requests and gives
running calls ten seconds to end. A second signal stops it at once. `kill -9`
loses nothing either: what ran continues at the next start.";

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let parameters = self.common.parameters.clone();
        let given = Given {
            data: self.data,
            store: self.store,
            region: self.region,
            account: self.account,
            retention_days: self.retention_days,
            max_disk: self.max_disk,
            tls_cert: self.tls_cert,
            tls_key: self.tls_key,
            log_events: self.log_events,
            functions: self.functions,
            mock_config: self.mock_config,
            access_keys: Given::keys_of_environment()?,
            ..self.common.given()
        };
        frontend::serve(given, self.config.as_deref(), Mode::Serve, parameters)
    }
}
