//! What a process runs so that a handler is called.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::function::{Bootstrap, Function, Runtime};

const PYTHON: &str = include_str!("bootstrap.py");
const NODE: &str = include_str!("bootstrap.mjs");

/// The clients that are built in, as files.
#[derive(Debug, Clone)]
pub(crate) struct Scripts {
    python: PathBuf,
    node: PathBuf,
}

impl Scripts {
    pub(crate) fn write(directory: &Path) -> io::Result<Self> {
        let directory = std::path::absolute(directory)?;
        let write = |name: &str, text: &str| {
            let path = directory.join(name);
            fs::write(&path, text).map(|()| path)
        };
        Ok(Self { python: write("bootstrap.py", PYTHON)?, node: write("bootstrap.mjs", NODE)? })
    }

    /// The program and its arguments; empty for what is not a process that waits for events.
    pub(crate) fn program(&self, function: &Function) -> Vec<OsString> {
        let code = std::path::absolute(&function.code).unwrap_or_else(|_| function.code.clone());
        match &function.runtime {
            Runtime::Python { program, handler } => match official(function, &[PYTHON_CLIENT]) {
                Some(_) => vec![program.into(), "-m".into(), "awslambdaric".into(), handler.into()],
                None => vec![program.into(), self.python.clone().into()],
            },
            Runtime::Node { program, handler } => match official(function, &NODE_CLIENTS) {
                Some(client) => vec![program.into(), client.into(), handler.into()],
                None => vec![program.into(), self.node.clone().into()],
            },
            Runtime::Binary { file, .. } => vec![code.join(file).into()],
            Runtime::Command { .. } | Runtime::Http { .. } => Vec::new(),
        }
    }
}

const PYTHON_CLIENT: &str = "awslambdaric/__main__.py";
/// From version 4 on, and before.
const NODE_CLIENTS: [&str; 2] =
    ["node_modules/aws-lambda-ric/index.mjs", "node_modules/aws-lambda-ric/bin/index.mjs"];

/// Where the official client is, if it is to be used. One that is asked for need not be in the folder: an
/// interpreter may know it from elsewhere.
fn official(function: &Function, paths: &[&str]) -> Option<PathBuf> {
    let code = std::path::absolute(&function.code).unwrap_or_else(|_| function.code.clone());
    let found = paths.iter().map(|path| code.join(path)).find(|path| path.exists());
    match function.bootstrap {
        Bootstrap::Builtin => None,
        Bootstrap::Official => found.or_else(|| Some(code.join(paths.last()?))),
        Bootstrap::Auto => found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(installed: &[&str], bootstrap: Bootstrap, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        for file in installed {
            let file = folder.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let scripts = Scripts::write(folder.path()).unwrap();
        let mut function = Function::node("f", "index.handler", folder.path());
        function.bootstrap = bootstrap;
        let program: Vec<_> = scripts.program(&function).into_iter().map(PathBuf::from).collect();
        assert_eq!(program[1].strip_prefix(folder.path()).unwrap(), Path::new(expected));
    }

    #[test]
    fn the_official_client_is_found_where_its_version_has_it() {
        let [new, old] = NODE_CLIENTS;
        check(&[], Bootstrap::Auto, "bootstrap.mjs");
        check(&[old], Bootstrap::Auto, old);
        check(&[new], Bootstrap::Auto, new);
        check(&[new], Bootstrap::Official, new);
        check(&[new], Bootstrap::Builtin, "bootstrap.mjs");
        // What is missing is named when it is started.
        check(&[], Bootstrap::Official, old);
    }
}
