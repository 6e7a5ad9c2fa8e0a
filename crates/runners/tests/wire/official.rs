//! The official clients, which `cargo xtask functions` prepares, against what is recorded of them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cases;
use crate::client::{Client, Records, tests};
use crate::recording::shown;

/// A virtual environment with `awslambdaric`.
const PYTHON: &str = "EVERSTEP_TEST_AWSLAMBDARIC";
/// A folder with `node_modules/aws-lambda-ric`.
const NODE: &str = "EVERSTEP_TEST_AWS_LAMBDA_RIC";
/// The handler in `tests/functions/rust`, built.
const RUST: &str = "EVERSTEP_TEST_RUST_HANDLER";

pub(crate) const PYTHON_FILE: &str = "awslambdaric-4.2.2.txt";
pub(crate) const NODE_FILE: &str = "aws-lambda-ric-3.3.0.txt";
pub(crate) const NEW_NODE_FILE: &str = "aws-lambda-ric-4.0.2.txt";
const RUST_FILE: &str = "lambda_runtime-1.5.0.txt";
pub(crate) const FILES: [&str; 4] = [PYTHON_FILE, NODE_FILE, NEW_NODE_FILE, RUST_FILE];

fn place(variable: &str) -> PathBuf {
    std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} is not set")).into()
}

pub(crate) fn recorded(file: &str) -> String {
    fs::read_to_string(tests().join("recorded").join(file)).unwrap()
}

#[track_caller]
fn check(file: &str, user_agent: &str, records: &Records) {
    // Nothing else has been recorded by mistake.
    let agents = &records.user_agents;
    assert!(agents.iter().any(|agent| agent.starts_with(user_agent)), "{agents:?}");
    let seen = shown(&records.recordings);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(tests().join("recorded").join(file), &seen).unwrap();
    }
    assert!(seen == recorded(file), "{file} is not what was sent; this was:\n{seen}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs awslambdaric: cargo xtask functions"]
async fn awslambdaric_sends_what_is_recorded() {
    let venv = place(PYTHON);
    let program = vec![venv.join("bin/python").into(), "-m".into(), "awslambdaric".into()];
    let code = tests().join("recorded/python");
    let client = Client { program, is_told_handler: true, folder: installed(&venv), code };
    check(PYTHON_FILE, "aws-lambda-python/", &client.all(cases::python()).await);
}

/// `lib/python3.x/site-packages/awslambdaric`
fn installed(venv: &Path) -> PathBuf {
    let library = fs::read_dir(venv.join("lib")).unwrap().next().unwrap().unwrap().path();
    library.join("site-packages/awslambdaric")
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs aws-lambda-ric: cargo xtask functions"]
async fn aws_lambda_ric_sends_what_is_recorded() {
    let folder = place(NODE).join("node_modules/aws-lambda-ric");
    let before_4 = folder.join("bin/index.mjs");
    let (script, file) = match before_4.exists() {
        true => (before_4, NODE_FILE),
        false => (folder.join("index.mjs"), NEW_NODE_FILE),
    };
    let (program, code) = (vec!["node".into(), script.into()], tests().join("recorded/node"));
    let client = Client { program, is_told_handler: true, folder, code };
    check(file, "AWS_Lambda_Cpp/", &client.all(cases::node()).await);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a binary: cargo xtask functions"]
async fn lambda_runtime_sends_what_is_recorded() {
    let program = place(RUST);
    let folder = program.parent().unwrap().to_owned();
    let client = Client {
        program: vec![program.into()],
        is_told_handler: false,
        code: folder.clone(),
        folder,
    };
    check(RUST_FILE, "aws-lambda-rust/", &client.all(cases::rust()).await);
}
