//! One server.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getuid, kill_process};

use crate::install;

/// How long a server may take to start; starting again after a crash takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How clients over TCP show who they are. Those on the socket are believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Auth {
    #[default]
    Trust,
    Scram,
}

/// How a server is started.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    pub auth: Auth,
    /// Whether it listens on TCP too.
    pub tcp: bool,
    /// Whether it waits for the disk, as a server that is not for tests does.
    pub fsync: bool,
    /// Lines of postgresql.conf.
    pub lines: Vec<String>,
}

/// A running server. Its user is `everstep`.
pub struct Server {
    home: PathBuf,
    programs: PathBuf,
    user: Option<(u32, u32)>,
    port: u16,
    databases: AtomicU32,
    /// Ends the server when this process is gone: it waits for the end of its input.
    _guard: ChildStdin,
    _guard_process: Child,
}

impl Server {
    /// Starts a server in a folder of its own; none where there is no PostgreSQL.
    ///
    /// # Panics
    ///
    /// If it does not start.
    #[must_use]
    pub fn start(settings: &Settings) -> Option<Self> {
        Self::start_prepared(settings, |_, _| {})
    }

    /// As `start`; before that, `prepare` writes files into the data folder.
    ///
    /// # Panics
    ///
    /// If it does not start.
    #[must_use]
    pub fn start_prepared(
        settings: &Settings,
        prepare: impl FnOnce(&Path, &dyn Fn(&Path, &str)),
    ) -> Option<Self> {
        let server = Self::place(settings.tcp)?;
        server.create(settings);
        prepare(&server.data(), &|path, text| server.write(path, text));
        server.run();
        Some(server)
    }

    /// A standby that follows this server.
    ///
    /// # Panics
    ///
    /// If it does not start.
    #[must_use]
    pub fn standby(&self) -> Option<Self> {
        let standby = Self::place(false)?;
        let mut copy = self.program("pg_basebackup");
        copy.args(["-U", "everstep", "-c", "fast", "-X", "stream", "-R", "-h"]).arg(&self.home);
        copy.args(["-p", &self.port.to_string(), "-D"]).arg(standby.data());
        must(&mut copy);
        let path = standby.data().join("postgresql.conf");
        let mut file = fs::File::options().append(true).open(path).expect("it was copied");
        let own = format!("\nunix_socket_directories = '{}'\n", standby.home.display());
        file.write_all(own.as_bytes()).expect("written");
        standby.run();
        Some(standby)
    }

    /// Waits until this standby has all that its primary has.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub fn wait_for(&self, primary: &Self) {
        let end = primary.sql("postgres", "SELECT pg_current_wal_lsn()");
        let sql = format!("SELECT pg_last_wal_replay_lsn() >= '{end}'");
        let deadline = Instant::now() + PATIENCE;
        while self.sql("postgres", &sql) != "t" {
            assert!(Instant::now() < deadline, "the standby does not follow");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes this standby a primary.
    ///
    /// # Panics
    ///
    /// If it does not become one.
    pub fn promote(&self) {
        must(self.program("pg_ctl").args(["promote", "-w", "-s", "-D"]).arg(self.data()));
    }

    /// A folder for a server that is yet to be made.
    fn place(tcp: bool) -> Option<Self> {
        let programs = install::programs()?.to_owned();
        let user = (getuid().is_root()).then(ordinary_user);
        let home = tempfile::Builder::new().prefix("pg-").tempdir().expect("a folder").keep();
        fs::set_permissions(&home, fs::Permissions::from_mode(0o700)).expect("it is ours");
        if let Some((uid, gid)) = user {
            chown(&home, Some(uid), Some(gid)).expect("root may do that");
        }
        let port = if tcp { free_port() } else { 5432 };
        let (guard, guard_process) = guard(&home, user);
        Some(Self {
            home,
            programs,
            user,
            port,
            databases: AtomicU32::new(0),
            _guard: guard,
            _guard_process: guard_process,
        })
    }

    fn create(&self, settings: &Settings) {
        let host = match settings.auth {
            Auth::Trust => "trust",
            Auth::Scram => "scram-sha-256",
        };
        let mut initdb = self.program("initdb");
        initdb.args([
            "--no-sync",
            "--username=everstep",
            "--auth-local=trust",
            "--encoding=UTF8",
            "--locale=C",
        ]);
        initdb.arg(format!("--auth-host={host}")).arg("-D").arg(self.data());
        must(&mut initdb);
        let mut lines = vec![
            format!("unix_socket_directories = '{}'", self.home.display()),
            format!("port = {}", self.port),
            format!("listen_addresses = '{}'", if settings.tcp { "127.0.0.1" } else { "" }),
            format!("fsync = {}", if settings.fsync { "on" } else { "off" }),
            "max_connections = 300".to_owned(),
            "shared_buffers = 32MB".to_owned(),
            "logging_collector = off".to_owned(),
        ];
        lines.extend(settings.lines.iter().cloned());
        let path = self.data().join("postgresql.conf");
        let mut file = fs::File::options().append(true).open(path).expect("initdb made it");
        file.write_all(lines.join("\n").as_bytes()).expect("written");
    }

    /// Starts the server, and again until it accepts connections: what is left of one that was killed may be in
    /// the way for a moment.
    ///
    /// # Panics
    ///
    /// If it does not start within a minute.
    pub fn run(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let mut start = self.program("pg_ctl");
            start.args(["start", "-w", "-s", "-t", "60", "-D"]).arg(self.data());
            let log = self.home.join("log");
            // Not inherited: the server would keep the pipes of the test open.
            start
                .arg("-l")
                .arg(&log)
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            if start.status().is_ok_and(|status| status.success()) {
                return;
            }
            let said = fs::read_to_string(&log).unwrap_or_default();
            assert!(Instant::now() < deadline, "PostgreSQL does not start: {said}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Kills the server with SIGKILL. Its other processes end when they notice.
    pub fn kill(&self) {
        if let Some(pid) = self.pid() {
            kill_process(pid, Signal::KILL).expect("it is ours");
        }
    }

    /// Stops all of its processes, or lets them continue.
    pub fn freeze(&self, is_frozen: bool) {
        let signal = if is_frozen { Signal::STOP } else { Signal::CONT };
        for pid in self.pid().into_iter().chain(self.children()) {
            let _ = kill_process(pid, signal);
        }
    }

    fn children(&self) -> Vec<Pid> {
        let Some(parent) = self.pid() else { return Vec::new() };
        let parent = parent.as_raw_nonzero();
        let path = format!("/proc/{parent}/task/{parent}/children");
        let text = fs::read_to_string(path).unwrap_or_default();
        text.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    }

    /// Stops the server and waits until it has.
    ///
    /// # Panics
    ///
    /// If it does not stop.
    pub fn stop(&self) {
        must(
            self.program("pg_ctl").args(["stop", "-w", "-s", "-m", "fast", "-D"]).arg(self.data()),
        );
    }

    /// Reads its settings again.
    ///
    /// # Panics
    ///
    /// If it does not run.
    pub fn reload(&self) {
        must(self.program("pg_ctl").args(["reload", "-s", "-D"]).arg(self.data()));
    }

    /// Creates a database, and returns its name.
    #[must_use]
    pub fn create_database(&self) -> String {
        let number = self.databases.fetch_add(1, Ordering::Relaxed);
        let name = format!("test{}_{number}", std::process::id());
        self.sql("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// The URL of a new database, through the socket.
    #[must_use]
    pub fn new_url(&self) -> String {
        self.url(&self.create_database())
    }

    /// The URL of a database, through the socket.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://everstep@/{database}?host={}&port={}", self.home.display(), self.port)
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of the socket and all else. It is removed in the end.
    #[must_use]
    pub fn home(&self) -> &Path {
        &self.home
    }

    #[must_use]
    pub fn data(&self) -> PathBuf {
        self.home.join("data")
    }

    /// A file that the server can read.
    ///
    /// # Panics
    ///
    /// If it cannot be written.
    pub fn write(&self, path: &Path, text: &str) {
        fs::write(path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        self.own(path);
    }

    /// Gives a file to the server's user.
    ///
    /// # Panics
    ///
    /// If that is not possible.
    pub fn own(&self, path: &Path) {
        if let Some((uid, gid)) = self.user {
            chown(path, Some(uid), Some(gid)).expect("root may do that");
        }
    }

    /// Runs a command by the server's user.
    pub fn as_user(&self, command: &mut Command) {
        as_user(command, self.user);
    }

    /// Runs SQL as the superuser; what it returns, unaligned, one row on each line.
    ///
    /// # Panics
    ///
    /// If it fails.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let mut psql = self.program("psql");
        psql.args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "everstep",
            "-d",
            database,
        ]);
        psql.arg("-h").arg(&self.home).args(["-p", &self.port.to_string(), "-c", sql]);
        must(&mut psql).trim().to_owned()
    }

    /// A program of this version, run by the server's user in its folder.
    #[must_use]
    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.current_dir(&self.home).env_remove("PGPASSWORD").env_remove("PGPASSFILE");
        as_user(&mut command, self.user);
        command
    }

    fn pid(&self) -> Option<Pid> {
        let text = fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        Pid::from_raw(text.lines().next()?.trim().parse().ok()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(pid) = self.pid() {
            let _ = kill_process(pid, Signal::QUIT);
        }
    }
}

/// A process that ends the server and removes its folder once this process is gone.
fn guard(home: &Path, user: Option<(u32, u32)>) -> (ChildStdin, Child) {
    const SCRIPT: &str = "cat > /dev/null; kill -QUIT $(head -1 data/postmaster.pid) 2> /dev/null; \
                          cd /; rm -rf \"$0\"";
    let mut command = Command::new("sh");
    command.arg("-c").arg(SCRIPT).arg(home).current_dir(home);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // What ends the test, such as Ctrl-C, must not end it as well.
    command.process_group(0);
    as_user(&mut command, user);
    let mut child = command.spawn().expect("a shell");
    (child.stdin.take().expect("it is piped"), child)
}

fn as_user(command: &mut Command, user: Option<(u32, u32)>) {
    if let Some((uid, gid)) = user {
        command.uid(uid).gid(gid);
    }
}

/// PostgreSQL refuses to be run by root.
fn ordinary_user() -> (u32, u32) {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    };
    find("postgres").or_else(|| find("nobody")).unwrap_or((65534, 65534))
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound").port()
}

fn must(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let (out, error) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {out}{error}");
    out.into_owned()
}
