//! Plain commands: JSON on standard input, JSON on standard output, a process for each call.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use everstep_retry::Class;
use hyper::body::Bytes;
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use tokio::time::timeout;

use crate::call::{Call, Ended, Outcome, Receipt};
use crate::environment::{self, pair};
use crate::error::{Error, RESPONSE_BYTES_MAX, check_json};
use crate::function::Function;
use crate::host::Shared;
use crate::observer::Tag;
use crate::process::{Ending, Launch, Process, because};

/// How long standard output may stay open after the command's end.
const DRAIN: Duration = Duration::from_secs(1);

/// Ends the command when it is dropped.
pub(crate) async fn run(
    shared: &Shared,
    function: &Function,
    argv: &[String],
    call: Call,
) -> Ended {
    let process = match start(shared, function, argv, &call).await {
        Ok(process) => process,
        Err(error) => {
            let why = because("start the command", &error);
            let error = Error::not_startable(&call.request_id, &why).into();
            return Outcome::Failed { error }.into();
        }
    };
    let worker_pid = Some(process.pid);
    let (result, log) = attend(process, function, &call).await;
    let outcome = match result {
        Ok(payload) => Outcome::Succeeded { payload },
        Err(error) => Outcome::Failed { error },
    };
    Ended { outcome, worker_pid, log, receipt: Receipt::default() }
}

async fn start(
    shared: &Shared,
    function: &Function,
    argv: &[String],
    call: &Call,
) -> io::Result<Process> {
    let mut env = environment::of(function, &shared.account, &call.request_id);
    env.push(pair("EVERSTEP_REQUEST_ID", &call.request_id));
    env.push(pair("EVERSTEP_ATTEMPT", call.attempt.to_string()));
    env.push(pair("EVERSTEP_TIMEOUT_MS", function.timeout_ms.to_string()));
    if let Some(context) = &call.client_context {
        env.push(pair("EVERSTEP_CLIENT_CONTEXT", context));
    }
    let launch = Launch {
        function: function.name.as_str().into(),
        program: argv.iter().map(Into::into).collect(),
        env,
        directory: function.code.clone(),
        memory_mib: function.memory_mib,
        call: Some(Tag { request_id: call.request_id.clone(), attempt: call.attempt }),
    };
    shared.spawner.spawn(launch).await
}

async fn attend(
    mut process: Process,
    function: &Function,
    call: &Call,
) -> (Result<Bytes, Box<Error>>, Vec<String>) {
    let limit = Duration::from_millis(function.timeout_ms);
    let Ok(ended) = timeout(limit, converse(&mut process, call)).await else {
        process.session.kill();
        let _ = (&mut process.exit).await;
        let error = Error::timed_out(&call.request_id, function.timeout_ms);
        return (Err(error.into()), process.last_lines().await);
    };
    let (ending, output) = ended;
    let tail = process.last_lines().await;
    (result(ending, output, &tail, function, call), tail)
}

/// Feeds the command and reads its output to the end; no output if there was too much.
async fn converse(process: &mut Process, call: &Call) -> (Ending, Option<Bytes>) {
    let Some((stdin, stdout)) = process.streams.take() else { return (Ending::LOST, None) };
    // A command need not read all of its input, or any.
    let feeding = tokio::spawn(feed(stdin.into(), call.payload.clone()));
    let mut reading = std::pin::pin!(read_all(stdout.into()));
    let (ending, output) = tokio::select! {
        output = &mut reading => ((&mut process.exit).await, output),
        ending = &mut process.exit => {
            (ending, timeout(DRAIN, reading).await.unwrap_or_else(|late| Err(late.into())))
        }
    };
    feeding.abort();
    (ending.unwrap_or(Ending::LOST), output.unwrap_or_default())
}

async fn feed(stdin: OwnedFd, input: Bytes) -> io::Result<()> {
    let stdin = pipe::Sender::from_owned_fd(stdin)?;
    let mut rest = &input[..];
    while !rest.is_empty() {
        stdin.writable().await?;
        match stdin.try_write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// All of it up to the limit; nothing if there is more.
async fn read_all(stdout: OwnedFd) -> io::Result<Option<Bytes>> {
    let stdout = pipe::Receiver::from_owned_fd(stdout)?;
    let (mut output, mut cut) = (Vec::new(), false);
    let mut buffer = vec![0; 64 << 10];
    loop {
        stdout.readable().await?;
        match stdout.try_read(&mut buffer) {
            Ok(0) => return Ok((!cut).then(|| output.into())),
            Ok(length) if output.len() + length <= RESPONSE_BYTES_MAX => {
                output.extend_from_slice(&buffer[..length]);
            }
            Ok(_) => cut = true,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

fn result(
    ending: Ending,
    output: Option<Bytes>,
    tail: &[String],
    function: &Function,
    call: &Call,
) -> Result<Bytes, Box<Error>> {
    let id = &call.request_id;
    let error = match (ending.code(), output) {
        (Some(0), None) => Error::too_large(),
        (Some(0), Some(output)) if output.trim_ascii().is_empty() => {
            return Ok(Bytes::from_static(b"null"));
        }
        (Some(0), Some(output)) => match check_json(&output) {
            Ok(()) => return Ok(output),
            Err(why) => Error::invalid_response(id, &why),
        },
        (Some(code), output) => {
            failure(code, output.as_deref().unwrap_or_default(), ending, tail, id)
        }
        (None, _) if ending.out_of_memory => Error::out_of_memory(id, function.memory_mib),
        (None, _) => Error::exited(id, &ending.reason()),
    };
    Err(error.into())
}

/// A command fails by its exit code. It may name its error on standard output; else its last line on
/// standard error is the message.
fn failure(code: i32, output: &[u8], ending: Ending, tail: &[String], id: &str) -> Error {
    if let Some(complaint) = ending.complaint(tail) {
        return Error::not_startable(id, &complaint);
    }
    if let Ok(error) = serde_json::from_slice::<Value>(output)
        && error.get("errorType").is_some_and(Value::is_string)
    {
        return Error::chosen(error);
    }
    let last = tail.iter().rev().find(|line| !line.trim().is_empty()).cloned();
    let message = last.unwrap_or_else(|| format!("the command ended with {}", ending.how()));
    let payload = json!({
        "errorType": "Command.Failed", "errorMessage": message, "exitStatus": code
    });
    Error::of(payload, Class::User)
}
