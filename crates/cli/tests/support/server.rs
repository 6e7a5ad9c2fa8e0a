//! A real server for tests.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use regex::Regex;

use super::{pin_scrubbed, root};

/// `everstep serve` on a port of its own, killed when it is dropped.
pub struct Server {
    pub child: Child,
    pub url: String,
    /// What it said before it listened.
    pub said: Vec<String>,
}

impl Server {
    pub fn start(data: &Path, listen: &str, more: &[(&str, &str)]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_everstep"))
            .args(["serve", "--listen", listen, "--data"])
            .arg(data)
            .current_dir(root())
            .env_remove("AWS_DEFAULT_REGION")
            .envs(more.iter().copied())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Self { child, url: String::new(), said: Vec::new() };
        let stderr = server.child.stderr.take().unwrap();
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            match line.strip_prefix("everstep listens on ") {
                Some(rest) => {
                    server.url = rest.split(',').next().unwrap().to_owned();
                    break;
                }
                None => server.said.push(line),
            }
        }
        assert!(!server.url.is_empty(), "it does not listen: {:?}", server.said);
        server
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_everstep"));
        command.args(arguments).current_dir(root()).env("EVERSTEP_ENDPOINT", &self.url);
        for name in
            ["EVERSTEP_ACCESS_KEYS", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "NO_COLOR"]
        {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).stdin(Stdio::null()).output().unwrap()
    }

    /// Must succeed; its standard output.
    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Pins what the command does.
    pub fn check(&self, name: &str, arguments: &[&str]) {
        self.pin(name, arguments, &self.run(arguments));
    }

    pub fn pin(&self, name: &str, arguments: &[&str], output: &Output) {
        let command = format!("everstep {}", arguments.join(" "));
        pin_scrubbed(name, &command, output, |text| scrubbed(&text.replace(&self.url, "URL")));
    }
}

impl Server {
    /// As SIGTERM does, and waits.
    pub fn stop(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Times and durations. Lines that hold a duration lose their columns, and tables with such lines their width.
fn scrubbed(text: &str) -> String {
    let replace = |text: &str, pattern: &str, with: &str| {
        Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
    };
    let text = replace(text, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "YYYY-MM-DD HH:MM:SSZ");
    let text = replace(&text, r#""(\w+Date|timestamp)": [\d.]+"#, "\"$1\": TIME");
    let text = replace(&text, r#""workerPid": \d+"#, "\"workerPid\": PID");
    let text = replace(&text, r"[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}", "UUID");
    let text = replace(&text, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "YYYY-MM-DDTHH:MM:SSZ");
    let text = replace(&text, r"in (\d+ h \d+ min|\d+ min \d+ s)", "in TIME");
    let text = replace(&text, r"(?m)^.* (\d+\.\d s|\d+ ms)( .*)?$", "«$0»");
    let text = replace(&text, r"\d+\.\d s|\d+ ms", "TIME");
    let lines = text.lines().map(|line| match line.strip_prefix('«') {
        Some(line) => replace(line.trim_end_matches('»'), " +", " "),
        None => replace(line, "[─]{3,}|[═]{3,}", "───"),
    });
    lines.map(|line| line + "\n").collect()
}
