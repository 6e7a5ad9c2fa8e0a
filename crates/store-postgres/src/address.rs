//! Where the database is and how it is reached: `postgres://USER@HOST:PORT/DATABASE?PARAMETERS`, as libpq
//! reads it.
//!
//! What is not understood is refused by name. A password is never shown.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_postgres::config::ChannelBinding;

const PREFIXES: [&str; 2] = ["postgres://", "postgresql://"];
const PORT: u16 = 5432;
/// Where Debian's packages put the socket.
pub(crate) const SOCKET_FOLDER: &str = "/var/run/postgresql";
const CONNECT_SECONDS: u64 = 10;

/// The URL of a database, read.
#[derive(Clone)]
pub struct Address {
    pub(crate) user: String,
    pub(crate) password: Option<Secret>,
    pub(crate) servers: Vec<Server>,
    pub(crate) database: String,
    pub(crate) passfile: Option<PathBuf>,
    pub(crate) tls: Tls,
    pub(crate) channel_binding: ChannelBinding,
    pub(crate) options: Option<String>,
    pub(crate) connect_timeout: Duration,
    /// Whether statements are prepared once for each connection, until a pooler is seen that mixes them up.
    pub(crate) prepare: bool,
}

/// One of the hosts that are tried in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Server {
    Tcp { host: String, port: u16 },
    Unix { folder: PathBuf, port: u16 },
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Tls {
    pub(crate) mode: Mode,
    pub(crate) roots: Roots,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

/// As libpq's `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    Disable,
    /// If the server offers it.
    #[default]
    Prefer,
    /// With whatever certificate, unless there are root certificates.
    Require,
    /// With a certificate that a root certificate vouches for.
    VerifyCa,
    /// And that is the host's.
    VerifyFull,
}

/// As libpq's `sslrootcert`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Roots {
    /// `~/.postgresql/root.crt` if it is there, else the system's.
    #[default]
    Usual,
    System,
    File(PathBuf),
}

/// Text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Why a URL is refused. Has nothing of its password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidAddress(String);

impl fmt::Display for InvalidAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for InvalidAddress {}

type Result<T> = std::result::Result<T, InvalidAddress>;

fn invalid<T>(why: impl Into<String>) -> Result<T> {
    Err(InvalidAddress(why.into()))
}

/// Without the password and the parameters.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<String> = self.servers.iter().map(ToString::to_string).collect();
        write!(f, "postgres://{}@{}/{}", self.user, servers.join(","), self.database)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix { folder, port } => write!(f, "{}:{port}", folder.display()),
        }
    }
}

impl Address {
    /// Whether a text is meant to be the URL of a database.
    #[must_use]
    pub fn is_url(text: &str) -> bool {
        PREFIXES.iter().any(|prefix| text.starts_with(prefix))
    }

    /// Whether the password is a part of the URL.
    #[must_use]
    pub fn has_password(&self) -> bool {
        self.password.is_some()
    }

    /// # Errors
    ///
    /// What is wrong with the URL, without its password.
    pub fn read(url: &str) -> Result<Self> {
        let rest = PREFIXES.iter().find_map(|prefix| url.strip_prefix(prefix));
        let Some(rest) = rest else {
            return invalid("a database's URL begins with postgres://");
        };
        let (rest, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may have an @ that was not escaped; a host has none.
        let (credentials, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let mut given = Given::default();
        let (user, password) = match credentials.split_once(':') {
            Some((user, password)) => (user, Some(password)),
            None => (credentials, None),
        };
        given.set("user", user)?;
        given.set("password", password.unwrap_or_default())?;
        given.set("dbname", path)?;
        for host in hosts.split(',').filter(|host| !host.is_empty()) {
            given.add_host(host)?;
        }
        for parameter in parameters.split('&').filter(|it| !it.is_empty()) {
            let Some((name, value)) = parameter.split_once('=') else {
                return invalid("a parameter has no value: NAME=VALUE");
            };
            given.set(name, value)?;
        }
        given.address()
    }
}

/// What a URL says, part by part.
#[derive(Default)]
struct Given {
    user: Option<String>,
    password: Option<String>,
    database: Option<String>,
    hosts: Vec<String>,
    ports: Vec<u16>,
    passfile: Option<PathBuf>,
    tls: Tls,
    channel_binding: Option<ChannelBinding>,
    options: Option<String>,
    connect_seconds: Option<u64>,
    is_unprepared: bool,
}

impl Given {
    /// `HOST`, `HOST:PORT`, `[ADDRESS]:PORT`, or an escaped path.
    fn add_host(&mut self, text: &str) -> Result<()> {
        let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, rest)) => (address, rest.strip_prefix(':')),
            None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
        };
        self.hosts.push(decode(host)?);
        self.ports.push(port.map_or(Ok(PORT), read_port)?);
        Ok(())
    }

    fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if value.is_empty() {
            return Ok(());
        }
        let text = decode(value)?;
        let path = || Some(PathBuf::from(&text));
        match name {
            "user" => self.user = Some(text),
            "password" => self.password = Some(text),
            "dbname" => self.database = Some(text),
            "host" => self.hosts = text.split(',').map(str::to_owned).collect(),
            "port" => {
                self.ports = text.split(',').map(read_port).collect::<Result<_>>()?;
            }
            "passfile" => self.passfile = path(),
            "sslmode" => self.tls.mode = mode(&text)?,
            "sslrootcert" if text == "system" => self.tls.roots = Roots::System,
            "sslrootcert" => self.tls.roots = Roots::File(PathBuf::from(text)),
            "sslcert" => self.tls.certificate = path(),
            "sslkey" => self.tls.key = path(),
            "channel_binding" => {
                let choices = [
                    ("disable", ChannelBinding::Disable),
                    ("prefer", ChannelBinding::Prefer),
                    ("require", ChannelBinding::Require),
                ];
                self.channel_binding = Some(choice(name, &text, &choices)?);
            }
            // Whatever it says, the server must accept writes.
            "target_session_attrs" => {
                choice(name, &text, &[("read-write", ()), ("primary", ()), ("any", ())])?;
            }
            "connect_timeout" => match text.parse() {
                Ok(seconds) if seconds > 0 => self.connect_seconds = Some(seconds),
                _ => return invalid(format!("invalid connect_timeout '{text}': use seconds")),
            },
            "options" => self.options = Some(text),
            "prepare" => {
                self.is_unprepared = choice(name, &text, &[("on", false), ("off", true)])?;
            }
            "application_name" => {
                return invalid("application_name cannot be set: everstep names its connections");
            }
            _ => return invalid(format!("unknown parameter '{name}'; known are {KNOWN}")),
        }
        Ok(())
    }

    fn address(self) -> Result<Address> {
        let Some(user) = self.user else {
            return invalid("no user: postgres://USER@HOST/DATABASE");
        };
        if self.tls.certificate.is_some() != self.tls.key.is_some() {
            return invalid("a client certificate needs both sslcert and sslkey");
        }
        Ok(Address {
            servers: servers(&self.hosts, &self.ports)?,
            database: self.database.unwrap_or_else(|| user.clone()),
            user,
            password: self.password.map(Secret),
            passfile: self.passfile,
            tls: self.tls,
            channel_binding: self.channel_binding.unwrap_or(ChannelBinding::Prefer),
            options: self.options,
            connect_timeout: Duration::from_secs(self.connect_seconds.unwrap_or(CONNECT_SECONDS)),
            prepare: !self.is_unprepared,
        })
    }
}

const KNOWN: &str = "user, password, dbname, host, port, passfile, sslmode, sslrootcert, sslcert, sslkey, \
                     channel_binding, target_session_attrs, connect_timeout, options, prepare";

fn servers(hosts: &[String], ports: &[u16]) -> Result<Vec<Server>> {
    let usual = [usual_host()];
    let hosts = if hosts.is_empty() { &usual[..] } else { hosts };
    if ports.len() > 1 && ports.len() != hosts.len() {
        return invalid(format!("{} hosts with {} ports", hosts.len(), ports.len()));
    }
    let server = |(index, host): (usize, &String)| {
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(PORT);
        match host.starts_with('/') {
            true => Server::Unix { folder: PathBuf::from(host), port },
            false => Server::Tcp { host: host.clone(), port },
        }
    };
    Ok(hosts.iter().enumerate().map(server).collect())
}

fn usual_host() -> String {
    let folder = Path::new(SOCKET_FOLDER);
    if folder.is_dir() { SOCKET_FOLDER.to_owned() } else { "localhost".to_owned() }
}

const PORT_RULE: &str =
    "invalid port: use a number from 1 to 65535; in a password, write / as %2F and @ as %40";

fn read_port(text: &str) -> Result<u16> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        // Not repeated: it may be what follows a colon in a password.
        _ => invalid(PORT_RULE),
    }
}

fn mode(text: &str) -> Result<Mode> {
    let choices = [
        ("disable", Mode::Disable),
        ("prefer", Mode::Prefer),
        ("require", Mode::Require),
        ("verify-ca", Mode::VerifyCa),
        ("verify-full", Mode::VerifyFull),
    ];
    choice("sslmode", text, &choices)
}

fn choice<T: Copy>(name: &str, text: &str, choices: &[(&str, T)]) -> Result<T> {
    match choices.iter().find(|(known, _)| *known == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
            invalid(format!("invalid {name} '{text}': use {}", known.join(", ")))
        }
    }
}

/// Percent-encoded text. The error does not repeat it: it may be a password.
fn decode(text: &str) -> Result<String> {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escaped = (bytes[at] == b'%').then(|| {
            let digits = text.get(at + 1..at + 3)?;
            u8::from_str_radix(digits, 16).ok()
        });
        match escaped {
            None => decoded.push(bytes[at]),
            Some(Some(byte)) => {
                decoded.push(byte);
                at += 2;
            }
            Some(None) => {
                return invalid("a % is not followed by two hexadecimal digits: write %25");
            }
        }
        at += 1;
    }
    match String::from_utf8(decoded) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => invalid("a part that is not text"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: std::result::Result<&str, &str>) {
        let found = Address::read(url).map(|address| address.to_string());
        let found = found.map_err(|error| error.to_string());
        assert_eq!(found.as_deref().map_err(|error| &**error), expected, "{url}");
    }

    #[test]
    fn urls_are_shown_without_their_secrets() {
        check("postgres://ada@db/app", Ok("postgres://ada@db:5432/app"));
        check(
            "postgresql://ada:pass%20word@db:6000/app?sslmode=require",
            Ok("postgres://ada@db:6000/app"),
        );
        check("postgres://ada:p@ss@db/app", Ok("postgres://ada@db:5432/app"));
        check("postgres://ada@db", Ok("postgres://ada@db:5432/ada"));
        check(
            "postgres://ada@a,b:5433,[::1]:5434/x",
            Ok("postgres://ada@a:5432,b:5433,[::1]:5434/x"),
        );
        check("postgres://ada@%2Frun%2Fpg/x", Ok("postgres://ada@/run/pg:5432/x"));
        check("postgres:///x?host=/run/pg&port=7&user=ada", Ok("postgres://ada@/run/pg:7/x"));
        check("postgres://ada@/x?host=a,b&port=7", Ok("postgres://ada@a:7,b:7/x"));
        let address = Address::read("postgres://ada:secret@db/app").expect("it is valid");
        assert!(!format!("{address:?} {:?}", address.password).contains("secret"));
    }

    #[test]
    fn what_is_wrong_is_named() {
        check("mysql://db/x", Err("a database's URL begins with postgres://"));
        check("postgres://db/x", Err("no user: postgres://USER@HOST/DATABASE"));
        check("postgres://a@db:none/x", Err(PORT_RULE));
        check("postgres://a@db:0/x", Err(PORT_RULE));
        check("postgres://a:hid/den@db/x", Err(PORT_RULE));
        check(
            "postgres://a:hidden%zz@db/x",
            Err("a % is not followed by two hexadecimal digits: write %25"),
        );
        check("postgres://a@/x?host=a,b,c&port=1,2", Err("3 hosts with 2 ports"));
        check(
            "postgres://a@db/x?sslmode=allow",
            Err("invalid sslmode 'allow': use disable, prefer, require, verify-ca, verify-full"),
        );
        check(
            "postgres://a@db/x?target_session_attrs=standby",
            Err("invalid target_session_attrs 'standby': use read-write, primary, any"),
        );
        check(
            "postgres://a@db/x?sslcert=a",
            Err("a client certificate needs both sslcert and sslkey"),
        );
        check(
            "postgres://a@db/x?connect_timeout=soon",
            Err("invalid connect_timeout 'soon': use seconds"),
        );
        check("postgres://a@db/x?prepare", Err("a parameter has no value: NAME=VALUE"));
        let unknown = Address::read("postgres://a@db/x?pool=3").expect_err("unknown").to_string();
        assert!(unknown.starts_with("unknown parameter 'pool'; known are user,"), "{unknown}");
    }

    #[test]
    fn parameters() {
        let url = "postgres://a@db/x?sslmode=verify-full&sslrootcert=/ca.pem&passfile=%2Fpw&prepare=off\
                   &channel_binding=require&connect_timeout=3";
        let address = Address::read(url).expect("it is valid");
        assert_eq!(address.tls.mode, Mode::VerifyFull);
        assert_eq!(address.tls.roots, Roots::File("/ca.pem".into()));
        assert_eq!(address.passfile.as_deref(), Some(Path::new("/pw")));
        assert_eq!(address.channel_binding, ChannelBinding::Require);
        assert_eq!(address.connect_timeout, Duration::from_secs(3));
        assert!(!address.prepare && !address.has_password());
    }
}
