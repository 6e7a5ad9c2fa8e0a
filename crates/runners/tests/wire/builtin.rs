//! The clients that are built in, against what is recorded of the official ones.

use crate::cases::{self, Case};
use crate::client::Client;
use crate::differences::{self, Difference};
use crate::official::{NODE_FILE, PYTHON_FILE, recorded};
use crate::recording::{read, shown};

async fn check(client: Client, cases: Vec<Case>, file: &str, differences: &[Difference]) {
    let mut expected = read(&recorded(file));
    differences::apply(differences, &mut expected);
    let sent = client.all(cases).await;
    assert_eq!(sent.user_agents.len(), 0, "{:?}", sent.user_agents);
    let mut wrong = Vec::new();
    for (sent, expected) in sent.recordings.iter().zip(&expected) {
        if sent != expected {
            let [sent, expected] = [sent, expected].map(|one| shown(std::slice::from_ref(one)));
            wrong.push(format!("{sent}--- expected\n{expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} cases of {file}\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(sent.recordings.len(), expected.len(), "{file} has other cases");
}

#[tokio::test(flavor = "multi_thread")]
async fn python_sends_what_the_official_client_sends() {
    let client = Client::builtin("python3", "bootstrap.py", "python");
    check(client, cases::python(), PYTHON_FILE, &differences::python()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn node_sends_what_the_official_client_sends() {
    let client = Client::builtin("node", "bootstrap.mjs", "node");
    check(client, cases::node(), NODE_FILE, &differences::node()).await;
}
