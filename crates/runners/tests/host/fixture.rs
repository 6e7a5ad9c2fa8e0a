//! A host in a temporary directory, whose events are recorded.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use everstep_runners::{Call, Error, Event, Function, Host, Observer, Options, Outcome};
use serde_json::{Value, json};

pub(crate) struct Fixture {
    pub(crate) host: Arc<Host>,
    pub(crate) events: Arc<Events>,
    /// Kept until the host is gone.
    _directory: Option<tempfile::TempDir>,
}

#[derive(Default)]
pub(crate) struct Events(Mutex<Vec<Event>>);

impl Observer for Events {
    fn observe(&self, event: &Event) {
        let mut events = self.0.lock().unwrap();
        // A flood is not kept.
        if events.len() < 10_000 {
            events.push(event.clone());
        }
    }
}

impl Events {
    pub(crate) fn all(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    pub(crate) fn misdeeds(&self) -> Vec<String> {
        let line = |event| match event {
            Event::Misbehaved { function, what, .. } | Event::Refused { function, what, .. } => {
                Some(format!("{function}: {what}"))
            }
            _ => None,
        };
        self.all().into_iter().filter_map(line).collect()
    }

    pub(crate) fn started(&self) -> usize {
        self.all().iter().filter(|event| matches!(event, Event::Started { .. })).count()
    }
}

pub(crate) fn code(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/functions").join(folder)
}

pub(crate) fn shim() -> Vec<std::ffi::OsString> {
    vec![env!("CARGO_BIN_EXE_everstep-worker-shim").into()]
}

impl Fixture {
    pub(crate) fn new(functions: Vec<Function>) -> Self {
        Self::with(functions, |_| {})
    }

    pub(crate) fn with(functions: Vec<Function>, change: impl FnOnce(&mut Options)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Self::at(directory.path(), functions, change);
        Self { _directory: Some(directory), ..fixture }
    }

    pub(crate) fn at(
        directory: &Path,
        functions: Vec<Function>,
        change: impl FnOnce(&mut Options),
    ) -> Self {
        let events = Arc::new(Events::default());
        let mut options = Options::new(directory, shim());
        options.observer = events.clone();
        // Machines that build and test at once are slow.
        options.start_ms_max = 60_000;
        change(&mut options);
        let host = Arc::new(Host::open(options).unwrap());
        host.deploy(functions);
        Self { host, events, _directory: None }
    }

    /// A Python function `f` with the handler `app.handler`.
    pub(crate) fn python(change: impl FnOnce(&mut Function)) -> Self {
        Self::new(vec![python("f", change)])
    }

    pub(crate) async fn outcome(&self, function: &str, event: &Value) -> Outcome {
        self.invoked(function, call("r-1", event)).await
    }

    pub(crate) async fn invoked(&self, function: &str, call: Call) -> Outcome {
        self.host.invoke(function, call).await.outcome
    }

    pub(crate) async fn result(&self, event: Value) -> Value {
        match self.outcome("f", &event).await {
            Outcome::Succeeded { payload } => serde_json::from_slice(&payload).unwrap(),
            other => panic!("{event}: {:.500}", format!("{other:?}")),
        }
    }

    /// An error, and the last lines that the process wrote.
    pub(crate) async fn error_and_log(&self, event: Value) -> (Error, Vec<String>) {
        let ended = self.host.invoke("f", call("r-1", &event)).await;
        match ended.outcome {
            Outcome::Failed { error } => (*error, ended.log),
            other => panic!("{event}: {:.500}", format!("{other:?}")),
        }
    }

    pub(crate) async fn error(&self, event: Value) -> Error {
        match self.outcome("f", &event).await {
            Outcome::Failed { error } => *error,
            other => panic!("{event}: {:.500}", format!("{other:?}")),
        }
    }
}

pub(crate) fn python(name: &str, change: impl FnOnce(&mut Function)) -> Function {
    let mut function = Function::python(name, "app.handler", code("python"));
    function.timeout_ms = 60_000;
    change(&mut function);
    function
}

pub(crate) fn call(request_id: &str, event: &Value) -> Call {
    let payload = event.to_string().into();
    Call { request_id: request_id.to_owned(), payload, attempt: 1, ..Call::default() }
}

pub(crate) fn doing(what: &str, with: impl Into<Value>) -> Value {
    json!({ "do": what, "with": with.into() })
}

/// Waits until something is so, for as long as a slow machine may need.
pub(crate) async fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether there is such a process, and it is not merely unburied.
pub(crate) fn is_alive(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
