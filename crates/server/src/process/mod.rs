//! The server as a process: starts store, engines and HTTP server, reloads, and stops all of it in order.

mod assembly;
mod clock_trust;
mod database;
mod descriptors;
mod disk;
mod error;
mod files;
mod frontend;
mod function_log;
mod in_flight;
mod inline_code;
mod live_log;
mod log_events;
mod machines;
mod monitor;
mod privacy;
mod project;
mod queues;
mod reload;
mod settings;
mod shutdown;
mod unused_variables;

use std::path::Path;
use std::sync::Arc;

use assembly::Assembly;
use descriptors::Descriptors;
use everstep_interpreter::Dialect;
use reload::Loaded;
use settings::Settings;
use shutdown::{Shutdown, Signals};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::http::{Console, Log};
use crate::{HttpBounds, HttpOptions, Tls, serve};

pub use error::Error;
pub(crate) use error::{Context, Result};
pub use frontend::{Frontend, Others, ServedBy};
pub use project::Project;
pub use settings::Given;

/// What a server is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `everstep serve`
    Serve,
    /// `everstep dev`: logs what happens, and reloads what changes.
    Dev,
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// A signal stopped it.
    Stopped,
    /// It did not start: the configuration has errors, and they have been shown.
    Refused,
}

/// Serves until a signal stops it. Blocks.
pub fn run(
    given: Given,
    file: Option<&Path>,
    mode: Mode,
    frontend: Arc<dyn Frontend>,
) -> Result<Ended> {
    // Before it knows any secret, and starts anything.
    privacy::hide_process(&*frontend);
    let settings = Settings::resolve(given, file)?;
    let project = match &settings.functions {
        None => None,
        Some(path) => match frontend.project(path, settings.served_by())? {
            Some(project) => Some(project),
            None => return Ok(Ended::Refused),
        },
    };
    let descriptors = Descriptors::take();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve_project(settings, descriptors, project, mode, frontend))
}

async fn serve_project(
    settings: Settings,
    descriptors: Descriptors,
    project: Option<Project>,
    mode: Mode,
    frontend: Arc<dyn Frontend>,
) -> Result<Ended> {
    // First of all: a signal right after the announcement must stop it in order.
    let signals = Signals::listen()?;
    let tls = match &settings.tls {
        Some((certificates, key)) => Some(Tls::read(certificates, key)?),
        None => None,
    };
    // Before the store is opened: of two servers on one port, only one may touch the data.
    let listener = TcpListener::bind(settings.listen)
        .await
        .context(format_args!("cannot listen on {}", settings.listen))?;
    let mut loaded = project.map(|project| Loaded::new(project, &settings));
    let mut assembly = Assembly::start(&settings, descriptors, loaded.as_ref(), mode, &frontend)?;
    unused_variables::warn(&*frontend);
    let (stopping, stopped) = oneshot::channel();
    let orderly = async {
        let server =
            Server { settings: &settings, descriptors, frontend: &frontend, listener, tls };
        let ready = server.prepare(&assembly, loaded.as_mut()).await;
        let (outcome, deadline) = match ready {
            Ok(()) => {
                assembly.watch(&settings, &frontend);
                server.serve(&mut assembly, loaded, signals, stopping).await
            }
            Err(error) => (Err(error), shutdown::deadline()),
        };
        assembly.shut_down(deadline).await;
        outcome
    };
    tokio::select! {
        outcome = orderly => outcome,
        never = shutdown::on_second_signal(stopped, &*frontend) => match never {},
    }
}

struct Server<'s> {
    settings: &'s Settings,
    descriptors: Descriptors,
    frontend: &'s Arc<dyn Frontend>,
    listener: TcpListener,
    tls: Option<Tls>,
}

impl Server<'_> {
    /// Creates the queues and machines of the project, and announces the server.
    async fn prepare(&self, assembly: &Assembly, loaded: Option<&mut Loaded>) -> Result<()> {
        let Some(loaded) = loaded else { return self.announce(assembly, None) };
        loaded.project.deploy_queues(&assembly.queues).await?;
        let (service, account) = (&assembly.service, &self.settings.account);
        for message in loaded.project.deploy_machines(service, account).await {
            self.frontend.write(&message);
        }
        // When there is all that they start.
        assembly.functions.triggers.deploy(loaded.project.triggers(self.settings)).await;
        for line in loaded.new_orphans(&assembly.service).await? {
            self.frontend.write(&format!("{line}\n"));
        }
        self.announce(assembly, Some(&loaded.project))
    }

    /// Answers requests until a signal or an error stops it. Also returns the deadline for all that still runs.
    async fn serve(
        self,
        assembly: &mut Assembly,
        loaded: Option<Loaded>,
        mut signals: Signals,
        stopping: oneshot::Sender<Option<Shutdown>>,
    ) -> (Result<Ended>, Instant) {
        let url = self.url();
        let Self { settings, descriptors, frontend, listener, tls } = self;
        let Assembly { functions, service, queues, live_log, failed, .. } = assembly;
        let reloading = reload::follow(
            loaded,
            settings,
            functions,
            service,
            queues,
            live_log.clone(),
            &**frontend,
        );
        let (mut outcome, mut deadline) = (Ok(Ended::Stopped), shutdown::deadline());
        let stop = async {
            tokio::select! {
                () = signals.recv() => {}
                Some(error) = failed.recv() => outcome = Err(error),
                () = reloading => {}
            }
            deadline = shutdown::deadline();
            queues.stop_waiting();
            let _ = stopping.send(Shutdown::begin(functions.calls_running(), &**frontend));
        };
        let usual = HttpBounds::default();
        let connections = usual.connections.min(descriptors.connections);
        let options = HttpOptions {
            keys: settings.keys.clone(),
            tls,
            bounds: HttpBounds { connections, ..usual },
            allowed_hosts: settings.allowed_hosts.clone(),
            console: settings.console.then(|| Console { url, log: log(frontend) }),
        };
        serve(listener, service.clone(), options, stop).await;
        (outcome, deadline)
    }

    fn url(&self) -> String {
        let scheme = if self.settings.tls.is_some() { "https" } else { "http" };
        let address = self.listener.local_addr().unwrap_or(self.settings.listen);
        format!("{scheme}://{address}")
    }

    /// Where it listens, where the data is, how to call it, and by which rules definitions run.
    fn announce(&self, assembly: &Assembly, project: Option<&Project>) -> Result<()> {
        let Self { settings, frontend, .. } = self;
        let limits = assembly.functions.limits();
        let url = self.url();
        let data = match &settings.store {
            Some(address) => address.to_string(),
            None => settings.data.display().to_string(),
        };
        frontend.write(&format!(
            "everstep listens on {url}, data in {data}; try: aws stepfunctions --endpoint-url {url} \
             list-state-machines\n{}\n",
            dialect_line(settings.dialect)
        ));
        if settings.console {
            frontend.write(&format!("console: {url}/console/\n"));
        }
        if let Some(project) = project {
            frontend.write(&format!("{}; limits of {limits}\n", project.summary()));
            let here = if url == format!("http://{}", settings::LISTEN) {
                String::new()
            } else {
                format!(" --endpoint {url}")
            };
            if let Some(machine) = project.valid_machine() {
                let hint =
                    format!("everstep executions start {machine} --input '{{}}' --wait{here}");
                frontend.write(&format!("hint: {hint}\n"));
            } else if let Some(function) = project.functions().next() {
                let hint = format!("everstep invoke {function} --payload '{{}}'{here}");
                frontend.write(&format!("hint: {hint}\n"));
            }
        }
        Ok(())
    }
}

/// Which dialect is in force, and how to change it.
fn dialect_line(dialect: Dialect) -> String {
    let other = Dialect::EACH.into_iter().find(|other| *other != dialect).unwrap_or_default();
    format!(
        "dialect {}: definitions run by {}; to change that: --dialect {}, or the tag everstep:dialect of a state machine",
        dialect.name(),
        dialect.follows(),
        other.name(),
    )
}

/// Where the console logs who has changed what.
fn log(frontend: &Arc<dyn Frontend>) -> Log {
    let frontend = frontend.clone();
    Arc::new(move |line: &str| frontend.write(&format!("{line}\n")))
}
