//! `everstep serve`: the API, on an engine with a store of its own.

use std::path::PathBuf;

use clap::Args;
use everstep_server::{Given, Manner};

use crate::exit::Exit;
use crate::frontend;

/// Serve the AWS Step Functions API
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Serve {
    /// Address and port to listen on [default: 127.0.0.1:8083]
    #[arg(long, env = "EVERSTEP_LISTEN", value_name = "ADDRESS")]
    listen: Option<String>,

    /// Directory of the data; made if it is not there [default: everstep in the user's state directory]
    #[arg(long, env = "EVERSTEP_DATA", value_name = "DIR")]
    data: Option<PathBuf>,

    /// How definitions are run: `spec` as the specification says, `aws` as the service does [default: spec]
    #[arg(long, env = "EVERSTEP_DIALECT", value_name = "DIALECT")]
    dialect: Option<String>,

    /// Region in ARNs [default: us-east-1]
    #[arg(long, env = "EVERSTEP_REGION")]
    region: Option<String>,

    /// Account in ARNs, twelve digits [default: 123456789012]
    #[arg(long, env = "EVERSTEP_ACCOUNT")]
    account: Option<String>,

    /// Days that executions are kept after their end [default: 90]
    #[arg(long, env = "EVERSTEP_RETENTION_DAYS", value_name = "DAYS")]
    retention_days: Option<u32>,

    /// Certificates for TLS, PEM
    #[arg(long, env = "EVERSTEP_TLS_CERT", value_name = "FILE")]
    tls_cert: Option<PathBuf>,

    /// Private key for TLS, PEM
    #[arg(long, env = "EVERSTEP_TLS_KEY", value_name = "FILE")]
    tls_key: Option<PathBuf>,

    /// Write what executions log to this file, a line of JSON for each event; `-` for standard output
    #[arg(long, env = "EVERSTEP_LOG_EVENTS", value_name = "FILE")]
    log_events: Option<String>,

    /// Functions and state machines to serve: an everstep.yaml, or the folder that holds it
    #[arg(long, env = "EVERSTEP_FUNCTIONS", value_name = "PATH")]
    functions: Option<PathBuf>,

    /// Where Lambda functions are invoked that are not configured here
    #[arg(long, env = "LAMBDA_ENDPOINT", value_name = "URL")]
    lambda_endpoint: Option<String>,

    /// Let Wait states and retries, of tasks and of functions, take this much of their time, such as 0.01
    #[arg(long, env = "WAIT_TIME_SCALE", value_name = "FACTOR", allow_negative_numbers = true)]
    wait_time_scale: Option<f64>,

    /// Test cases: a mock file of AWS Step Functions Local; start an execution of ARN#TestCase
    #[arg(long, env = "SFN_MOCK_CONFIG", value_name = "FILE")]
    mock_config: Option<PathBuf>,

    /// Settings, TOML; flags and environment variables win over it
    #[arg(long, env = "EVERSTEP_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

const AFTER_HELP: &str = "\
Examples:
  everstep serve
  aws stepfunctions --endpoint-url http://127.0.0.1:8083 list-state-machines
  everstep serve --listen 127.0.0.1:9000 --data ./data --dialect aws
  everstep serve --functions everstep.yaml
  everstep serve --log-events events.jsonl
  everstep serve --mock-config mocks.json --wait-time-scale 0

A configuration file has the same names: listen = \"127.0.0.1:8083\", data = \"/var/lib/everstep\",
retention-days = 30, and access keys: [access-keys] AKIAEXAMPLE = \"its secret\".
EVERSTEP_ACCESS_KEYS takes them as ID:SECRET, several separated by commas.

On loopback anybody may call unless there are access keys. Elsewhere they are required, and requests must be
signed by one of them, as every AWS SDK does.

SIGTERM and Ctrl-C stop it when all that was accepted is written; calls that run have ten seconds to come to
their end, and a second signal ends them. `kill -9` loses nothing either: whatever ran goes on from there when
it is started again.";

impl Serve {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let given = Given {
            listen: self.listen,
            data: self.data,
            dialect: self.dialect,
            region: self.region,
            account: self.account,
            retention_days: self.retention_days,
            tls_cert: self.tls_cert,
            tls_key: self.tls_key,
            log_events: self.log_events,
            functions: self.functions,
            lambda_endpoint: self.lambda_endpoint,
            wait_time_scale: self.wait_time_scale,
            mock_config: self.mock_config,
            access_keys: Given::keys_of_environment()?,
        };
        frontend::serve(given, self.config.as_deref(), Manner::Quiet)
    }
}
