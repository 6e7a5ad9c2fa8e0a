//! A real server for tests.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use regex::Regex;

use super::lines::Lines;
use super::{pin_scrubbed, root};

/// `everstep serve` on a port of its own, killed when it is dropped.
pub struct Server {
    pub child: Child,
    pub url: String,
    /// What it wrote when it listened.
    pub announced: String,
    /// What it wrote before it listened.
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
        let mut server =
            Self { child, url: String::new(), announced: String::new(), said: Vec::new() };
        let mut lines = Lines::of(server.child.stderr.take().unwrap());
        while let Some(line) = lines.next() {
            match line.strip_prefix("everstep listens on ") {
                Some(rest) => {
                    server.url = rest.split(',').next().unwrap().to_owned();
                    server.announced = rest.to_owned();
                    break;
                }
                None => server.said.push(line),
            }
        }
        assert!(!server.url.is_empty(), "the server does not listen: {:?}", server.said);
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

    /// The standard output of a command that must succeed.
    pub fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Compares what the command does with the recorded output.
    pub fn check(&self, name: &str, arguments: &[&str]) {
        self.pin(name, arguments, &self.run(arguments));
    }

    pub fn pin(&self, name: &str, arguments: &[&str], output: &Output) {
        let command = format!("everstep {}", arguments.join(" "));
        pin_scrubbed(name, &command, output, |text| scrubbed(&text.replace(&self.url, "URL")));
    }
}

impl Server {
    /// Stops it with SIGTERM and waits for its end.
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

/// Replaces what differs between runs. Columns keep their widths: a placeholder is as wide as what it stands for
/// wherever something follows in another column.
fn scrubbed(text: &str) -> String {
    let replace = |text: &str, pattern: &str, with: &str| {
        Regex::new(pattern).unwrap().replace_all(text, with).into_owned()
    };
    let text = replace(text, r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ", "YYYY-MM-DD HH:MM:SSZ");
    let text = replace(&text, r#""(\w+Date|timestamp)": [\d.]+"#, "\"$1\": TIME");
    let text = replace(&text, r#""(elapsed|since)Ms": \d+"#, "\"${1}Ms\": MS");
    let text = replace(&text, r#""workerPid": \d+"#, "\"workerPid\": PID");
    let text = replace(&text, r#""LogResult": "\w+=*""#, "\"LogResult\": BASE64");
    let text = replace(&text, r"[\da-f]{8}-[\da-f]{4}-[\da-f-]{22}", UUID);
    let text = replace(&text, r"fired-[\da-f]{16}", "fired-xxxxxxxxxxxxxxxx");
    let text = replace(&text, r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", "YYYY-MM-DDTHH:MM:SSZ");
    let text = replace(&text, r"in (\d+ h \d+ min|\d+ min \d+ s)", "in TIME");
    // The time of a progress line is aligned to the right.
    let text = replace(&text, r"(?m)^ *\d+\.\d s  ", "     TIME  ");
    let text = replace(&text, r"\d\.\d s  ", "TIME   ");
    let text = replace(&text, r"\d+\.\d s|\d+ ms", "TIME");
    ruled(&text)
}

/// As wide as any other.
const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// The rules of a table are as wide as its rows: the width of a duration must not show.
fn ruled(text: &str) -> String {
    let is_rule = |line: &str| line.starts_with(['─', '═']);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let rules: Vec<usize> = (0..lines.len()).filter(|at| is_rule(&lines[*at])).collect();
    // Above the header, below it, and below the rows.
    for table in rules.chunks(3) {
        let [top, .., bottom] = table else { continue };
        let rows = lines[*top..*bottom].iter().filter(|line| !is_rule(line));
        let width = rows.map(|row| row.chars().count()).max().unwrap_or_default();
        for at in table {
            let mark: String = lines[*at].chars().take(1).collect();
            lines[*at] = mark.repeat(width);
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}
