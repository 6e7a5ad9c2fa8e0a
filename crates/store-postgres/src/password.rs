//! Passwords: of the URL, else of `PGPASSWORD`, else of a password file, as libpq looks for them.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::address::{Address, SOCKET_FOLDER, Secret, Server};

/// Read, write and execute for all but the owner.
const OTHERS: u32 = 0o077;

/// The password for a server, if there is one. Read anew for each connection: passwords are changed.
///
/// # Errors
///
/// What is wrong with the password file.
pub(crate) fn find(address: &Address, server: &Server) -> Result<Option<Secret>, String> {
    if let Some(password) = &address.password {
        return Ok(Some(password.clone()));
    }
    if let Some(password) = variable("PGPASSWORD") {
        return Ok(Some(Secret(password)));
    }
    let Some(path) = file(address) else { return Ok(None) };
    let text = match read(&path) {
        Ok(text) => text,
        // Only one that was asked for must be there.
        Err(error) if error.kind() == io::ErrorKind::NotFound && address.passfile.is_none() => {
            return Ok(None);
        }
        Err(error) => return Err(format!("the password file {}: {error}", path.display())),
    };
    Ok(look_up(&text, address, server).map(Secret))
}

/// Where passwords are looked for, for messages.
pub(crate) fn places(address: &Address) -> String {
    let file = file(address).map_or_else(String::new, |path| format!(", nor {}", path.display()));
    format!("neither the URL nor PGPASSWORD{file} has one")
}

fn file(address: &Address) -> Option<PathBuf> {
    let usual = || Some(PathBuf::from(variable("HOME")?).join(".pgpass"));
    let asked = address.passfile.clone().or_else(|| variable("PGPASSFILE").map(PathBuf::from));
    asked.or_else(usual)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn read(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    // Such as /dev/null, where no password is wanted.
    if !metadata.is_file() {
        return Ok(String::new());
    }
    let mode = metadata.permissions().mode() & 0o777;
    if mode & OTHERS != 0 {
        let why = format!("other users can read it (mode {mode:o}): chmod 600 it");
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    fs::read_to_string(path)
}

/// The first line that matches: `HOST:PORT:DATABASE:USER:PASSWORD`, with `*` for any.
fn look_up(text: &str, address: &Address, server: &Server) -> Option<String> {
    let (hosts, port) = match server {
        Server::Tcp { host, port } => (vec![host.clone()], *port),
        Server::Unix { folder, port } if folder == Path::new(SOCKET_FOLDER) => {
            (vec!["localhost".to_owned(), SOCKET_FOLDER.to_owned()], *port)
        }
        Server::Unix { folder, port } => (vec![folder.display().to_string()], *port),
    };
    let port = port.to_string();
    let matches = |field: &str, value: &str| field == "*" || field == value;
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let [host, its_port, database, user, password] = fields(line)?;
        let is_host = hosts.iter().any(|known| matches(&host, known));
        let is_it = is_host
            && matches(&its_port, &port)
            && matches(&database, &address.database)
            && matches(&user, &address.user);
        is_it.then_some(password)
    })
}

/// Separated by colons; a backslash before a colon or a backslash escapes it.
fn fields(line: &str) -> Option<[String; 5]> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut()?.push(letters.next().unwrap_or('\\')),
            _ => fields.last_mut()?.push(letter),
        }
    }
    fields.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
# a comment
db:5432:app:ada:one
db:*:*:ada:two
[odd]\\:host:*:*:*:th\\:r\\\\ee
*:*:*:bob:with:colons
localhost:*:app:ada:local
/run/pg:*:*:*:socket
too:few
";

    fn check(url: &str, expected: Option<&str>) {
        let address = Address::read(url).expect("it is valid");
        let found = look_up(FILE, &address, &address.servers[0]);
        assert_eq!(found.as_deref(), expected, "{url}");
    }

    #[test]
    fn the_first_line_that_matches_counts() {
        check("postgres://ada@db/app", Some("one"));
        check("postgres://ada@db:9/app", Some("two"));
        check("postgres://ada@db/other", Some("two"));
        check("postgres://ada@elsewhere/app", None);
        check("postgres://bob@elsewhere/app", Some("with:colons"));
        check("postgres://eve@/app?host=[odd]:host", Some("th:r\\ee"));
        check("postgres://ada@/app?host=/var/run/postgresql", Some("local"));
        check("postgres://ada@/app?host=/run/pg", Some("socket"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("pw");
        fs::write(&path, "*:*:*:*:secret\n").expect("written");
        let url = format!("postgres://ada@db/app?passfile={}", path.display());
        let address = Address::read(&url).expect("it is valid");
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode));
        set(0o640).expect("set");
        let error = find(&address, &address.servers[0]).expect_err("it is refused");
        assert!(error.ends_with("other users can read it (mode 640): chmod 600 it"), "{error}");
        set(0o600).expect("set");
        let found = find(&address, &address.servers[0]).expect("it is read");
        assert_eq!(found, Some(Secret("secret".to_owned())));
        fs::remove_file(&path).expect("removed");
        find(&address, &address.servers[0]).expect_err("it was asked for");
    }
}
