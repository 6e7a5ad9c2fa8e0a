//! Settings of the server: flags and environment first, then the file, then defaults.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};

use everstep_interpreter::Dialect;
use everstep_signature::Keys;
use everstep_store_postgres::Address;
use serde::Deserialize;

use super::disk;
use super::error::{Context as _, Error, Result};
use super::frontend::{Others, ServedBy};
use super::log_events::Target;

/// Settings that were given; the others have defaults.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Given {
    pub listen: Option<String>,
    #[serde(default, rename = "allow-host")]
    pub allowed_hosts: Vec<String>,
    pub data: Option<PathBuf>,
    pub store: Option<String>,
    pub dialect: Option<String>,
    pub region: Option<String>,
    pub account: Option<String>,
    pub retention_days: Option<u32>,
    pub max_disk: Option<String>,
    pub tls_cert: Option<PathBuf>,
    pub tls_key: Option<PathBuf>,
    pub log_events: Option<String>,
    pub functions: Option<PathBuf>,
    pub lambda_endpoint: Option<String>,
    pub wait_time_scale: Option<f64>,
    pub mock_config: Option<PathBuf>,
    pub http_tasks: Option<String>,
    pub console: Option<String>,
    #[serde(default)]
    pub access_keys: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(super) struct Settings {
    pub(super) listen: SocketAddr,
    /// Names under which a server on loopback is also reached.
    pub(super) allowed_hosts: Vec<String>,
    pub(super) data: PathBuf,
    /// The database, unless the store is in the data directory.
    pub(super) store: Option<Address>,
    pub(super) dialect: Dialect,
    pub(super) region: String,
    pub(super) account: String,
    pub(super) retention_ms: Option<i64>,
    /// Bytes that the data directory may have.
    pub(super) disk_max: Option<u64>,
    pub(super) tls: Option<(PathBuf, PathBuf)>,
    pub(super) keys: Keys,
    pub(super) log_events: Option<Target>,
    /// The configuration of functions and machines.
    pub(super) functions: Option<PathBuf>,
    /// The endpoint that invokes the Lambda functions that this server does not have.
    pub(super) lambda_endpoint: Option<String>,
    pub(super) wait_scale_millionths: u64,
    pub(super) mock_config: Option<PathBuf>,
    /// Whether the resource of a task may be a URL.
    pub(super) http_tasks: bool,
    /// Whether there is a console.
    pub(super) console: bool,
}

/// The default.
pub(super) const LISTEN: &str = "127.0.0.1:8083";

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

impl Settings {
    pub(super) fn resolve(given: Given, file: Option<&Path>) -> Result<Self> {
        let file = match file {
            Some(path) => read(path)?,
            None => Given::default(),
        };
        let given = given.or(file);
        let listen = given.listen.as_deref().unwrap_or(LISTEN);
        let listen = address(listen)?;
        let keys = Keys::new(given.access_keys).context("invalid access keys")?;
        if !listen.ip().is_loopback() && keys.is_empty() {
            return Err(Error::new(format!(
                "cannot listen on {listen} without access keys: it is not a loopback address\nhint: set \
                 EVERSTEP_ACCESS_KEYS=ID:SECRET, or listen on 127.0.0.1"
            )));
        }
        let dialect = given.dialect.as_deref().unwrap_or("spec");
        let Some(dialect) = Dialect::find(dialect) else {
            return Err(Error::new(format!("invalid dialect '{dialect}': use `spec` or `aws`")));
        };
        let account = given.account.or_else(|| variable("AWS_ACCOUNT_ID"));
        let account = account.unwrap_or_else(|| "123456789012".to_owned());
        let region = given.region.or_else(|| variable("AWS_DEFAULT_REGION"));
        if account.len() != 12 || !account.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(Error::new(format!(
                "invalid account '{account}': an account has twelve digits"
            )));
        }
        let tls = match (given.tls_cert, given.tls_key) {
            (Some(certificates), Some(key)) => Some((certificates, key)),
            (None, None) => None,
            _ => {
                return Err(Error::new(
                    "TLS needs both a certificate and a key: --tls-cert and --tls-key",
                ));
            }
        };
        let store = given.store.as_deref().map(store).transpose()?;
        if store.is_some() && given.max_disk.is_some() {
            return Err(Error::new(
                "--max-disk is about a store in the data directory: with --store, limit the size of the database on \
                 its server",
            ));
        }
        Ok(Self {
            listen,
            allowed_hosts: given.allowed_hosts,
            data: given.data.map_or_else(|| default_data(store.as_ref()), Ok)?,
            store,
            dialect,
            region: region.unwrap_or_else(|| "us-east-1".to_owned()),
            account,
            retention_ms: Some(retention_ms(given.retention_days.unwrap_or(90))?),
            disk_max: given.max_disk.as_deref().map(disk::size).transpose()?,
            tls,
            keys,
            log_events: given.log_events.as_deref().map(Target::read),
            functions: given.functions,
            lambda_endpoint: given.lambda_endpoint.map(endpoint).transpose()?,
            wait_scale_millionths: given.wait_time_scale.map_or(Ok(MILLION), scale)?,
            mock_config: given.mock_config,
            http_tasks: http_tasks(given.http_tasks.as_deref(), listen)?,
            console: console(given.console.as_deref())?,
        })
    }
}

impl Settings {
    /// What a configuration is checked for.
    pub(super) fn served_by(&self) -> ServedBy {
        let elsewhere = self.lambda_endpoint.is_some();
        let others = if elsewhere { Others::Elsewhere } else { Others::Nowhere };
        ServedBy { others, dialect: self.dialect }
    }
}

impl Given {
    /// `EVERSTEP_ACCESS_KEYS=ID:SECRET,ID:SECRET`
    pub fn keys_of_environment() -> Result<BTreeMap<String, String>> {
        let text = std::env::var("EVERSTEP_ACCESS_KEYS").unwrap_or_default();
        let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (id, secret) = pair.split_once(':').ok_or_else(|| {
                    Error::new("EVERSTEP_ACCESS_KEYS must be ID:SECRET, separated by commas")
                })?;
                Ok((id.to_owned(), secret.to_owned()))
            })
            .collect()
    }

    fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            allowed_hosts: if self.allowed_hosts.is_empty() {
                other.allowed_hosts
            } else {
                self.allowed_hosts
            },
            data: self.data.or(other.data),
            store: self.store.or(other.store),
            dialect: self.dialect.or(other.dialect),
            region: self.region.or(other.region),
            account: self.account.or(other.account),
            retention_days: self.retention_days.or(other.retention_days),
            max_disk: self.max_disk.or(other.max_disk),
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            log_events: self.log_events.or(other.log_events),
            functions: self.functions.or(other.functions),
            lambda_endpoint: self.lambda_endpoint.or(other.lambda_endpoint),
            wait_time_scale: self.wait_time_scale.or(other.wait_time_scale),
            mock_config: self.mock_config.or(other.mock_config),
            http_tasks: self.http_tasks.or(other.http_tasks),
            console: self.console.or(other.console),
            access_keys: if self.access_keys.is_empty() {
                other.access_keys
            } else {
                self.access_keys
            },
        }
    }
}

/// A variable of AWS Step Functions Local or of the AWS tools.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// An execution that is removed as soon as it ends cannot be looked at by whoever has started it.
fn retention_ms(days: u32) -> Result<i64> {
    if days == 0 {
        return Err(Error::new("invalid retention of 0 days: use at least 1"));
    }
    Ok(i64::from(days) * DAY_MS)
}

/// On, unless it is switched off.
fn console(given: Option<&str>) -> Result<bool> {
    match given {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => {
            Err(Error::new(format!("invalid value '{other}' for --console: use `on` or `off`")))
        }
    }
}

/// A server that others can reach does not call URLs for them, unless it is configured to.
fn http_tasks(given: Option<&str>, listen: SocketAddr) -> Result<bool> {
    match given {
        None => Ok(listen.ip().is_loopback()),
        Some("allow") => Ok(true),
        Some("refuse") => Ok(false),
        Some(other) => Err(Error::new(format!(
            "invalid value '{other}' for http-tasks: use `allow` or `refuse`"
        ))),
    }
}

fn endpoint(url: String) -> Result<String> {
    everstep_client::check_url(&url).context("invalid Lambda endpoint")?;
    Ok(url.trim_end_matches('/').to_owned())
}

const MILLION: u64 = 1_000_000;

/// A factor in millionths.
// It is within bounds.
fn scale(factor: f64) -> Result<u64> {
    if !(0.0..=1000.0).contains(&factor) {
        return Err(Error::new(format!(
            "invalid wait time scale {factor}: use a factor from 0 to 1000"
        )));
    }
    Ok((factor * MILLION as f64).round() as u64)
}

fn read(path: &Path) -> Result<Given> {
    let text =
        std::fs::read_to_string(path).context(format_args!("cannot read {}", path.display()))?;
    toml::from_str(&text).context(format_args!("invalid settings in {}", path.display()))
}

fn address(text: &str) -> Result<SocketAddr> {
    let text = if text.contains(':') { text.to_owned() } else { format!("127.0.0.1:{text}") };
    let found = text.to_socket_addrs().ok().and_then(|mut all| all.next());
    found.ok_or_else(|| {
        Error::new(format!("invalid address '{text}': use ADDRESS:PORT, such as 127.0.0.1:8083"))
    })
}

/// The text is not repeated: it may have a password.
fn store(url: &str) -> Result<Address> {
    Address::read(url).context("invalid --store")
}

/// `$XDG_STATE_HOME/everstep`, else `~/.local/state/everstep`; another beside a database, where the directory has
/// no store.
fn default_data(store: Option<&Address>) -> Result<PathBuf> {
    let absolute =
        |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    let state =
        state.ok_or_else(|| Error::new("no home directory to keep the data in: use --data DIR"))?;
    Ok(state.join(if store.is_some() { "everstep-postgres" } else { "everstep" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales() {
        let check = |factor: f64, expected: Result<u64, &str>| {
            let found = scale(factor).map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{factor}");
        };
        check(1.0, Ok(1_000_000));
        check(0.01, Ok(10_000));
        check(0.0, Ok(0));
        check(1000.0, Ok(1_000_000_000));
        check(-1.0, Err("invalid wait time scale -1: use a factor from 0 to 1000"));
        check(f64::NAN, Err("invalid wait time scale NaN: use a factor from 0 to 1000"));
    }

    #[test]
    fn retention() {
        let message = retention_ms(0).expect_err("it is refused").to_string();
        assert_eq!(message, "invalid retention of 0 days: use at least 1");
        assert_eq!(retention_ms(1), Ok(DAY_MS));
    }

    #[test]
    fn urls_as_tasks() {
        let check = |given, listen, expected: Result<bool, &str>| {
            let found = http_tasks(given, address(listen).expect("an address"));
            let found = found.map_err(|error| error.to_string());
            assert_eq!(found, expected.map_err(str::to_owned), "{given:?} {listen}");
        };
        check(None, "127.0.0.1:8083", Ok(true));
        check(None, "0.0.0.0:8083", Ok(false));
        check(Some("allow"), "0.0.0.0:8083", Ok(true));
        check(Some("refuse"), "127.0.0.1:8083", Ok(false));
        let wrong = "invalid value 'yes' for http-tasks: use `allow` or `refuse`";
        check(Some("yes"), "127.0.0.1:8083", Err(wrong));
    }

    #[test]
    fn endpoints() {
        let check = |url: &str, expected: Result<&str, &str>| {
            let found = endpoint(url.to_owned()).map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(|error| &**error), expected, "{url}");
        };
        check("http://localhost:3001/", Ok("http://localhost:3001"));
        let wrong = "invalid Lambda endpoint: localhost:3001 cannot be called: a URL begins with http:// or https://";
        check("localhost:3001", Err(wrong));
    }
}
