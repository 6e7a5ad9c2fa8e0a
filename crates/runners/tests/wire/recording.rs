//! What a client has sent, and how its process ended: as values, and as text that is read and reviewed.

use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Recording {
    pub(crate) requests: Vec<Request>,
    pub(crate) ending: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// After the version of the API.
    pub(crate) path: String,
    /// Those that matter.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

const CASE: &str = "=== ";
const ENDING: &str = "ends: ";
const METHODS: [&str; 2] = ["GET ", "POST "];

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for request in &self.requests {
            writeln!(f, "{} {}", request.method, request.path)?;
            for (name, value) in &request.headers {
                writeln!(f, "{name}: {value}")?;
            }
            if request.method != "GET" {
                writeln!(f, "{}", request.body)?;
            }
        }
        writeln!(f, "{ENDING}{}", self.ending)
    }
}

/// Cases by their names, in order.
pub(crate) fn shown(recordings: &[(String, Recording)]) -> String {
    let shown = recordings.iter().map(|(name, recording)| format!("{CASE}{name}\n{recording}"));
    shown.collect::<Vec<_>>().join("\n")
}

pub(crate) fn read(text: &str) -> Vec<(String, Recording)> {
    let cases = text.split(CASE).skip(1);
    cases
        .map(|case| case.split_once('\n').unwrap())
        .map(|(name, rest)| (name.to_owned(), one(rest)))
        .collect()
}

fn one(text: &str) -> Recording {
    let mut recording = Recording { requests: Vec::new(), ending: String::new() };
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(ending) = line.strip_prefix(ENDING) {
            ending.clone_into(&mut recording.ending);
        } else if METHODS.iter().any(|method| line.starts_with(method)) {
            let (method, path) = line.split_once(' ').unwrap();
            let (method, path) = (method.to_owned(), path.to_owned());
            let (headers, body) = (Vec::new(), String::new());
            recording.requests.push(Request { method, path, headers, body });
        } else {
            recording.requests.last_mut().unwrap().take(line);
        }
    }
    recording
}

impl Request {
    /// A line of the text: headers come before the body, and are known by their names.
    fn take(&mut self, line: &str) {
        let header = line
            .split_once(": ")
            .filter(|(name, _)| self.body.is_empty() && crate::recorder::HEADERS.contains(name));
        match header {
            Some((name, value)) => self.headers.push((name.to_owned(), value.to_owned())),
            None if self.body.is_empty() => line.clone_into(&mut self.body),
            None => self.body += &format!("\n{line}"),
        }
    }
}

#[test]
fn what_is_shown_can_be_read() {
    for file in crate::official::FILES {
        let text = crate::official::recorded(file);
        assert_eq!(shown(&read(&text)), text, "{file}");
    }
}
