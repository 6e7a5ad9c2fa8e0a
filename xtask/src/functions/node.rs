//! The official client of Node.js, built once: it has a native part, with a curl of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::finish;
use crate::test::provide;

const PACKAGE: &str = "aws-lambda-ric";
/// The newest for Node.js before 22, and the newest.
const VERSIONS: [&str; 2] = ["3.3.0", "4.0.2"];
/// The one that the package asks for stops at Python 3.11.
const NODE_GYP: &str = "10.3.1";
/// Written when all is built: a folder without it is a build that failed.
const STAMP: &str = ".built";

/// What the build needs, each with a command that shows whether it is there.
const TOOLS: [([&str; 2], &str); 8] = [
    (["node", "--version"], "nodejs"),
    (["npm", "--version"], "npm"),
    (["cmake", "--version"], "cmake"),
    (["autoconf", "--version"], "autoconf"),
    (["automake", "--version"], "automake"),
    (["libtoolize", "--version"], "libtool"),
    (["g++", "--version"], "g++"),
    (["make", "--version"], "make"),
];

/// The official client, in a folder of its own below `directory`.
pub(super) fn client(directory: &Path) -> Result<PathBuf> {
    provide(&["node", "--version"], "nodejs")?;
    let version = if answer("process.versions.node.split('.')[0] < 22")? == "true" {
        VERSIONS[0]
    } else {
        VERSIONS[1]
    };
    let folder = directory.join(format!("{PACKAGE}-{version}"));
    if !folder.join(STAMP).exists() {
        build(&folder, version)?;
    }
    Ok(folder)
}

fn build(folder: &Path, version: &str) -> Result<()> {
    for (shown_by, package) in TOOLS {
        provide(&shown_by, package)?;
    }
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    fs::create_dir_all(folder)?;
    let package = json!({
        "private": true,
        "dependencies": { PACKAGE: version },
        "overrides": { "node-gyp": NODE_GYP },
        "allowScripts": { PACKAGE: true },
    });
    fs::write(folder.join("package.json"), format!("{package:#}\n"))?;
    let mut install = Command::new("npm");
    let quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts=false"];
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    install.current_dir(folder).arg("install").args(quiet).env("MAKEFLAGS", format!("-j{cores}"));
    if let Some(headers) = headers()? {
        install.env("npm_config_nodedir", headers);
    }
    finish(&mut install)?;
    let native = ["dist/rapid-client.node", "rapid-client.node"];
    let package = folder.join("node_modules").join(PACKAGE);
    if !native.iter().any(|file| package.join(file).exists()) {
        bail!("npm has not built the native part of {PACKAGE} {version}");
    }
    fs::write(folder.join(STAMP), "").context("the build cannot be marked as done")
}

/// Where Node.js has its headers, if they came with it; else the build fetches them.
fn headers() -> Result<Option<PathBuf>> {
    let prefix = answer("require('path').resolve(process.execPath, '../..')")?;
    let prefix = PathBuf::from(prefix);
    Ok(prefix.join("include/node/node_api.h").exists().then_some(prefix))
}

fn answer(expression: &str) -> Result<String> {
    let output = Command::new("node").args(["-p", expression]).output()?;
    if !output.status.success() {
        bail!("node failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
