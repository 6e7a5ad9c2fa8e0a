//! Clients as programs, and all cases of one.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::cases::Case;
use crate::normal::Places;
use crate::recorder::record;
use crate::recording::Recording;

/// How many at a time.
const PROCESSES: usize = 4;

#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) program: Vec<OsString>,
    /// The handler is also its last argument.
    pub(crate) is_told_handler: bool,
    /// Where its own code is.
    pub(crate) folder: PathBuf,
    /// Where the function's code is.
    pub(crate) code: PathBuf,
}

pub(crate) struct Records {
    pub(crate) recordings: Vec<(String, Recording)>,
    pub(crate) user_agents: BTreeSet<String>,
}

pub(crate) fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

impl Client {
    pub(crate) fn builtin(interpreter: &str, script: &str, code: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bootstrap");
        let program = vec![interpreter.into(), folder.join(script).into()];
        Self { program, is_told_handler: false, folder, code: tests().join("recorded").join(code) }
    }

    pub(crate) async fn all(self, cases: Vec<Case>) -> Records {
        let turns = Arc::new(Semaphore::new(PROCESSES));
        let mut running = JoinSet::new();
        for (index, case) in cases.into_iter().enumerate() {
            let (client, turns) = (self.clone(), turns.clone());
            running.spawn(async move {
                let _turn = turns.acquire().await.unwrap();
                (index, case.name, record(&case, |api| client.command(&case, api)).await)
            });
        }
        let mut raw = running.join_all().await;
        raw.sort_by_key(|(index, ..)| *index);
        let places = Places { client: self.folder, code: self.code };
        let user_agents = raw.iter().flat_map(|(.., raw)| raw.user_agents.clone()).collect();
        let recordings =
            raw.into_iter().map(|(_, name, raw)| (name.to_owned(), places.normal(raw)));
        Records { recordings: recordings.collect(), user_agents }
    }

    fn command(&self, case: &Case, api: SocketAddr) -> Command {
        let mut command = Command::new(&self.program[0]);
        command.args(&self.program[1..]).current_dir(&self.code);
        if self.is_told_handler {
            command.arg(case.handler);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("AWS_LAMBDA_RUNTIME_API", api.to_string());
        command.env("_HANDLER", case.handler).env("LAMBDA_TASK_ROOT", &self.code);
        command.envs([
            ("AWS_LAMBDA_FUNCTION_NAME", "f"),
            ("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST"),
            ("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128"),
            ("AWS_LAMBDA_LOG_GROUP_NAME", "/aws/lambda/f"),
            ("AWS_LAMBDA_LOG_STREAM_NAME", "[$LATEST]1"),
            ("AWS_REGION", "us-east-1"),
            ("LANG", "C.UTF-8"),
            ("TZ", ":UTC"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ]);
        command
    }
}
