//! Calls operations of a server.

use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail};
use clap::Args;
use everstep_client::{
    Client, Credentials, Error, HeaderName, HeaderValue, Kind, Method, Options, Request, Response,
    Signing,
};
use serde_json::{Value, json};

use super::refusal::{self, Refused};

/// Where a server listens by default.
pub(crate) const DEFAULT_ENDPOINT: &str = "http://127.0.0.1:8083";

// The server to call. (A doc comment would become the help of the commands that flatten this.)
#[derive(Debug, Args)]
#[command(next_help_heading = "Server")]
pub(crate) struct Connection {
    /// URL of the server
    #[arg(
        long,
        // As `aws` has it.
        alias = "endpoint-url",
        env = "EVERSTEP_ENDPOINT",
        value_name = "URL",
        default_value = DEFAULT_ENDPOINT,
        global = true
    )]
    endpoint: String,
    /// Region in signatures [default: AWS_REGION, AWS_DEFAULT_REGION or us-east-1]
    #[arg(long, env = "EVERSTEP_REGION", global = true)]
    region: Option<String>,
    /// Additional CA certificates, PEM
    #[arg(long, env = "EVERSTEP_CA_FILE", value_name = "FILE", global = true)]
    ca_file: Option<PathBuf>,
}

pub(crate) struct Api {
    runtime: tokio::runtime::Runtime,
    client: Client,
    endpoint: String,
    signing: Option<Signing>,
}

/// The prefix of an operation's target.
const STEP_FUNCTIONS: &str = "AWSStepFunctions";
const OWN: &str = "Everstep";

/// No answer: the server may be restarting.
#[derive(Debug)]
pub(crate) struct Unanswered(String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

impl Connection {
    pub(crate) fn open(self) -> Result<Api> {
        let client = Client::new(Options {
            // A synchronous execution takes five minutes at most.
            timeout: std::time::Duration::from_secs(330),
            response_bytes_max: 64 << 20,
            ca_file: self.ca_file,
            ..Options::default()
        })?;
        let region = self.region.or_else(|| variable("AWS_REGION"));
        let region = region.or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let signing = credentials()?.map(|credentials| Signing {
            credentials,
            region,
            service: "states".to_owned(),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let endpoint = self.endpoint.trim_end_matches('/').to_owned();
        Ok(Api { runtime, client, endpoint, signing })
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The first pair of `EVERSTEP_ACCESS_KEYS`, else the keys that the AWS tools use.
fn credentials() -> Result<Option<Credentials>> {
    if let Some(pairs) = variable("EVERSTEP_ACCESS_KEYS") {
        let first = pairs.split(',').next().unwrap_or_default();
        let (id, secret) = first
            .trim()
            .split_once(':')
            .context("EVERSTEP_ACCESS_KEYS must have the form ID:SECRET")?;
        return Ok(Some(Credentials {
            access_key_id: id.to_owned(),
            secret_access_key: secret.to_owned(),
            session_token: None,
        }));
    }
    match (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY")) {
        (Some(access_key_id), Some(secret_access_key)) => Ok(Some(Credentials {
            access_key_id,
            secret_access_key,
            session_token: variable("AWS_SESSION_TOKEN"),
        })),
        (None, None) => Ok(None),
        (Some(_), None) => bail!("AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not"),
        (None, Some(_)) => bail!("AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not"),
    }
}

impl Api {
    /// The result of an operation; a refusal is an error with a hint.
    pub(crate) fn call(&self, operation: &str, input: &Value) -> Result<Value> {
        self.try_call(operation, input)?.map_err(|refused| anyhow!(refused.to_string()))
    }

    /// As [`Self::call`], for callers that handle refusals.
    pub(crate) fn try_call(
        &self,
        operation: &str,
        input: &Value,
    ) -> Result<Result<Value, Refused>> {
        self.ask(STEP_FUNCTIONS, operation, input)
    }

    /// As [`Self::call`], for everstep's own operations.
    pub(crate) fn operate(&self, operation: &str, input: &Value) -> Result<Value> {
        self.ask(OWN, operation, input)?.map_err(|refused| anyhow!(refused.to_string()))
    }

    fn ask(&self, service: &str, operation: &str, input: &Value) -> Result<Result<Value, Refused>> {
        let target = HeaderValue::try_from(format!("{service}.{operation}"))?;
        let request = Request::new(Method::POST, &*self.endpoint)
            .header(HeaderName::from_static("x-amz-target"), target)
            .header(
                HeaderName::from_static("content-type"),
                HeaderValue::from_static("application/x-amz-json-1.0"),
            )
            .body(input.to_string());
        let answer = self.send(request, "states")?;
        let body: Value = serde_json::from_slice(&answer.body).with_context(|| {
            let status = answer.status.as_u16();
            format!("{} is not a Step Functions API (HTTP status {status})", self.endpoint)
        })?;
        Ok(if answer.status.is_success() { Ok(body) } else { Err(refusal::read(operation, &body)) })
    }

    /// Signs the request if there are keys.
    pub(super) fn send(&self, mut request: Request, service: &str) -> Result<Response> {
        let signing = self.signing.clone();
        request.sign = signing.map(|signing| Signing { service: service.to_owned(), ..signing });
        let answer = self.runtime.block_on(self.client.send(request));
        answer.map_err(|error| self.unanswered(&error))
    }

    pub(super) fn endpoint(&self) -> &str {
        &self.endpoint
    }

    fn unanswered(&self, error: &Error) -> anyhow::Error {
        if error.kind() != Kind::Connect {
            return anyhow::Error::new(Unanswered(error.to_string()));
        }
        let why = error.to_string();
        let why = why.rsplit_once("cannot be reached: ").map_or(&*why, |(_, why)| why);
        anyhow::Error::new(Unanswered(format!(
            "cannot connect to {}: {why}\nhint: start a server with `everstep dev` or `everstep serve`, or specify \
             another one with --endpoint URL or EVERSTEP_ENDPOINT",
            self.endpoint
        )))
    }

    /// An invocation with its event, its attempts and its response.
    pub(crate) fn invocation(&self, id: &str) -> Result<Value> {
        self.operate("ShowInvocation", &json!({ "id": id }))
    }

    /// The session that an invocation is part of; null if it is not.
    pub(crate) fn session(&self, invocation: &Value) -> Result<Value> {
        match &invocation["sessionId"] {
            Value::Null => Ok(Value::Null),
            id => self.operate("DescribeSession", &json!({ "id": id })),
        }
    }

    /// Every page of a list, up to `max` elements.
    pub(crate) fn list(
        &self,
        operation: &str,
        member: &str,
        input: Value,
        max: usize,
    ) -> Result<Vec<Value>> {
        pages(|input| self.call(operation, input), member, input, max)
    }

    /// As [`Self::list`], for everstep's own operations.
    pub(crate) fn list_own(
        &self,
        operation: &str,
        member: &str,
        input: Value,
        max: usize,
    ) -> Result<Vec<Value>> {
        pages(|input| self.operate(operation, input), member, input, max)
    }
}

fn pages(
    call: impl Fn(&Value) -> Result<Value>,
    member: &str,
    mut input: Value,
    max: usize,
) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    loop {
        input["maxResults"] = json!((max - all.len()).clamp(1, 1000));
        let mut page = call(&input)?;
        if let Value::Array(elements) = page[member].take() {
            all.extend(elements);
        }
        match page["nextToken"].take() {
            Value::String(token) if all.len() < max => input["nextToken"] = json!(token),
            _ => break,
        }
    }
    all.truncate(max);
    Ok(all)
}
