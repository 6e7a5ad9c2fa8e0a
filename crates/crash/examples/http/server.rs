//! A server: a process of its own, on a directory that goes away with it.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use tempfile::TempDir;

use crate::DEADLINE;
use crate::client::Client;

pub(crate) struct Server {
    process: Child,
    address: SocketAddr,
    pub(crate) answered_after_ms: f64,
    _directory: TempDir,
}

impl Server {
    pub(crate) fn start(binary: &str) -> Self {
        Self::with_functions(binary, None)
    }

    pub(crate) fn with_functions(binary: &str, functions: Option<&Path>) -> Self {
        let directory = directory();
        let address = free_address();
        let begun = Instant::now();
        let mut command = Command::new(binary);
        if let Some(functions) = functions {
            command.env("EVERSTEP_FUNCTIONS", functions);
        }
        let process = command
            .args(["serve", "--listen", &address.to_string(), "--data"])
            .arg(directory.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary can be run");
        let answered_after_ms = loop {
            let answered = Client::connect(address)
                .and_then(|mut client| client.exchange("ListStateMachines", "{}"));
            if matches!(answered, Ok((200, _))) {
                break begun.elapsed().as_secs_f64() * 1000.0;
            }
            assert!(begun.elapsed() < DEADLINE, "the server does not answer");
            std::thread::yield_now();
        };
        Self { process, address, answered_after_ms, _directory: directory }
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.address).expect("the server listens")
    }

    /// Processor time that the server has used.
    pub(crate) fn cpu_seconds(&self) -> f64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id()));
        let stat = stat.expect("the server runs");
        let fields: Vec<&str> =
            stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks = |index: usize| fields[index].parse::<f64>().expect("a number");
        (ticks(11) + ticks(12)) / 100.0
    }

    pub(crate) fn resident_mib(&self) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id()));
        let status = status.expect("the server runs");
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.and_then(|line| line.trim().split(' ').next()?.parse::<f64>().ok());
        kib.expect("it has memory") / 1024.0
    }
}

/// A fresh directory that goes away again.
pub(crate) fn directory() -> TempDir {
    let base =
        std::env::var_os("EVERSTEP_BENCH_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    tempfile::tempdir_in(base).expect("the directory can be written")
}

/// An address that is free now.
fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    listener.local_addr().expect("it is bound")
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
