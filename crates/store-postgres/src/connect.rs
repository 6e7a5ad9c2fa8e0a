//! Connections: to the first server that accepts them and writes.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use uuid::Uuid;

use crate::address::{Address, Mode, Server};
use crate::fault::{Fault, describe};
use crate::password;
use crate::session::Session;
use crate::tls::Connector;

/// A connection whose other end is gone without a word is noticed after about this.
const SILENCE: Duration = Duration::from_secs(5);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(1);
const KEEPALIVES: u32 = 5;

/// Waits between attempts to connect.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// The first release with everything that the statements need.
pub(crate) const VERSION_MIN: u32 = 12;

/// What a connection is for. The server shows it as the name of the application.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    Commit,
    Beat,
    Read,
}

impl Purpose {
    /// The name that the server shows, with the node whose connection it is.
    pub(crate) fn application(self, node: Uuid) -> String {
        let purpose = match self {
            Self::Commit => "commit",
            Self::Beat => "beat",
            Self::Read => "read",
        };
        format!("everstep {purpose} {node}")
    }
}

/// How connections are made.
pub(crate) struct Connections {
    pub(crate) address: Address,
    pub(crate) node: Uuid,
    connector: Connector,
    prepares: Arc<AtomicBool>,
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NoConnection {
    why: String,
    /// It may work in a moment without anybody doing anything.
    pub(crate) is_passing: bool,
}

impl NoConnection {
    fn passing(why: String) -> Self {
        Self { why, is_passing: true }
    }

    fn lasting(why: String) -> Self {
        Self { why, is_passing: false }
    }
}

impl fmt::Display for NoConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Connections {
    /// # Errors
    ///
    /// Which file of the address cannot be used.
    pub(crate) fn new(address: Address, node: Uuid) -> Result<Self, String> {
        let connector = Connector::new(&address.tls)?;
        let prepares = Arc::new(AtomicBool::new(address.prepare));
        Ok(Self { address, node, connector, prepares })
    }

    /// Prepares no more statements. Returns whether it did until now.
    pub(crate) fn stop_preparing(&self) -> bool {
        self.prepares.swap(false, Ordering::Relaxed)
    }

    /// Connects to the first server that accepts writes.
    pub(crate) async fn connect(&self, purpose: Purpose) -> Result<Session, NoConnection> {
        let mut reasons = Vec::new();
        let mut is_passing = false;
        for server in &self.address.servers {
            let limit = self.address.connect_timeout;
            let connected = timeout(limit, self.connect_to(server, purpose)).await;
            let seconds = limit.as_secs();
            let late = || NoConnection::passing(format!("no answer within {seconds} s"));
            match connected.unwrap_or_else(|_| Err(late())) {
                Ok(session) => return Ok(session),
                Err(reason) => {
                    is_passing |= reason.is_passing;
                    reasons.push(format!("{server}: {reason}"));
                }
            }
        }
        Err(NoConnection { why: reasons.join("; "), is_passing })
    }

    async fn connect_to(&self, server: &Server, purpose: Purpose) -> Result<Session, NoConnection> {
        let config = self.config(server, purpose)?;
        let connected = config.connect(self.connector.clone()).await;
        let (client, connection) = connected.map_err(|error| self.refusal(&error))?;
        let session = Session::start(client, connection, self.prepares.clone());
        check_server(&session).await?;
        Ok(session)
    }

    fn config(&self, server: &Server, purpose: Purpose) -> Result<Config, NoConnection> {
        let address = &self.address;
        let mut config = Config::new();
        config
            .user(&address.user)
            .dbname(&address.database)
            .application_name(purpose.application(self.node))
            .connect_timeout(address.connect_timeout)
            .channel_binding(address.channel_binding)
            .keepalives(true)
            .keepalives_idle(SILENCE)
            .keepalives_interval(KEEPALIVE_EVERY)
            .keepalives_retries(KEEPALIVES)
            .tcp_user_timeout(SILENCE);
        let password = password::find(address, server).map_err(NoConnection::lasting)?;
        if let Some(password) = password {
            config.password(password.0);
        }
        if let Some(options) = &address.options {
            config.options(options);
        }
        match server {
            Server::Tcp { host, port } => {
                config.host(host).port(*port).ssl_mode(ssl_mode(address.tls.mode))
            }
            // As libpq: what stays on the machine is not encrypted.
            Server::Unix { folder, port } => {
                config.host_path(folder).port(*port).ssl_mode(SslMode::Disable)
            }
        };
        Ok(config)
    }

    /// What the server or the way to it says, and what to do about it.
    fn refusal(&self, error: &tokio_postgres::Error) -> NoConnection {
        let what = describe(error);
        let Address { user, database, .. } = &self.address;
        let Some(code) = error.code() else { return self.refusal_of_client(what) };
        let lasting = |advice: String| NoConnection::lasting(format!("{what}: {advice}"));
        match code {
            _ if *code == SqlState::INVALID_PASSWORD => lasting(format!(
                "check the password of {user} in the URL, PGPASSWORD or the password file"
            )),
            _ if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
                lasting(format!("let {user} in, with pg_hba.conf or CREATE ROLE {user} LOGIN"))
            }
            _ if *code == SqlState::INVALID_CATALOG_NAME => {
                lasting(format!("create it: CREATE DATABASE {database} OWNER {user}"))
            }
            _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
                lasting(format!("GRANT CONNECT ON DATABASE {database} TO {user}"))
            }
            _ if *code == SqlState::TOO_MANY_CONNECTIONS => lasting(format!(
                "everstep needs {} connections: raise max_connections, or the limit of the role or database",
                crate::CONNECTIONS
            )),
            _ => NoConnection::passing(what),
        }
    }

    fn refusal_of_client(&self, what: String) -> NoConnection {
        let lasting = |advice: &str| NoConnection::lasting(format!("{what}: {advice}"));
        if what.contains("password missing") {
            let user = &self.address.user;
            let places = password::places(&self.address);
            return NoConnection::lasting(format!("{user} needs a password, and {places}"));
        }
        if what.contains("does not support TLS") {
            return lasting("use sslmode=prefer or sslmode=disable, or turn on ssl on the server");
        }
        if what.contains("certificate") {
            return lasting(
                "give the server's root certificate with sslrootcert=FILE, or use sslmode=require",
            );
        }
        if what.contains("channel binding") {
            return lasting("use channel_binding=prefer");
        }
        NoConnection::passing(what)
    }
}

fn ssl_mode(mode: Mode) -> SslMode {
    match mode {
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    }
}

/// Whether it can be written to at all.
async fn check_server(session: &Session) -> Result<(), NoConnection> {
    const QUESTION: &str = "SELECT current_setting('server_version_num'), \
        current_setting('transaction_read_only'), pg_is_in_recovery(), current_setting('synchronous_commit')";
    let failed = |fault: Fault| NoConnection::passing(fault.to_string());
    let answer = session.script(QUESTION).await.map_err(failed)?;
    let value =
        |at: usize| answer.first().and_then(|row| row.get(at)?.as_deref()).unwrap_or_default();
    let version: u32 = value(0).parse().unwrap_or(0);
    let lasting = |why: String| Err(NoConnection::lasting(why));
    if version / 10_000 < VERSION_MIN {
        return lasting(format!(
            "the server is PostgreSQL {}: everstep needs {VERSION_MIN} or later",
            version / 10_000
        ));
    }
    if value(2) == "t" {
        return lasting(
            "the server is a standby, which accepts no writes: give the primary, or all servers \
             (host=a,b)"
                .to_owned(),
        );
    }
    if value(1) == "on" {
        return lasting(
            "the server accepts no writes (default_transaction_read_only is on): turn that off for \
             this role and database"
                .to_owned(),
        );
    }
    if value(3) == "off" {
        return lasting(
            "synchronous_commit is off, so what was acknowledged could be lost: turn it on for this role \
             (ALTER ROLE … SET synchronous_commit = on)"
                .to_owned(),
        );
    }
    Ok(())
}

/// How long to wait before the next attempt.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    attempts: u32,
}

impl Backoff {
    pub(crate) fn next(&mut self) -> Duration {
        let wait = BACKOFF_FIRST.saturating_mul(1 << self.attempts.min(10)).min(BACKOFF_MAX);
        self.attempts += 1;
        wait
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_become_rarer() {
        let mut backoff = Backoff::default();
        let waits: Vec<u128> = (0..7).map(|_| backoff.next().as_millis()).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1000, 1000]);
    }
}
