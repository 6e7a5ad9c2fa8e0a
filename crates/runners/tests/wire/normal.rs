//! What must differ from run to run, or between clients, made the same. Nothing else is.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::recorder::{Raw, RawRequest};
use crate::recording::{Recording, Request};

pub(crate) struct Places {
    pub(crate) client: PathBuf,
    pub(crate) code: PathBuf,
}

const CLIENT: &str = "<client>";
const CODE: &str = "<code>";
/// Bodies that are longer are shown by their beginning and their length.
const SHOWN_MAX: usize = 2_000;

impl Places {
    pub(crate) fn normal(&self, raw: Raw) -> Recording {
        let requests = raw.requests.into_iter().map(|request| self.request(request)).collect();
        Recording { requests, ending: raw.ending }
    }

    fn request(&self, raw: RawRequest) -> Request {
        let RawRequest { method, path, mut headers, body } = raw;
        for (name, value) in &mut headers {
            // Its value repeats what the body says, for a service that is not here.
            if name.ends_with("Xray-Error-Cause") {
                "…".clone_into(value);
            }
        }
        let body = self.placed(&String::from_utf8_lossy(&body));
        let body = if path.ends_with("/error") { error(&body) } else { shortened(body) };
        Request { method, path, headers, body }
    }

    /// Where things are: machines have their folders in different places, some of them behind links, and
    /// clients differ in the names of their files.
    fn placed(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for path in forms(&self.code) {
            text = text.replace(&path, CODE);
        }
        for path in forms(&self.client) {
            text = without_files(&text, &path);
        }
        text
    }
}

/// As it was given, and without links.
fn forms(path: &Path) -> [String; 2] {
    [path.to_owned(), path.canonicalize().unwrap()].map(|path| path.display().to_string())
}

/// `FOLDER/file` is the client, whatever the file.
fn without_files(text: &str, folder: &str) -> String {
    let mut pieces = text.split(folder);
    let mut placed = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find(['"', '\\', ':', ')', ' ']).unwrap_or(piece.len());
        placed += CLIENT;
        placed += &piece[end..];
    }
    placed
}

/// Errors are shown as JSON on many lines, whatever the spaces between its parts.
fn error(body: &str) -> String {
    let Ok(mut body) = serde_json::from_str::<Value>(body) else { return body.to_owned() };
    for trace in ["stackTrace", "trace"] {
        if let Some(frames) = body.get_mut(trace).and_then(Value::as_array_mut) {
            frames.retain(|frame| is_the_functions(frame.as_str().unwrap_or_default()));
        }
    }
    format!("{body:#}")
}

/// Frames of the client itself differ from client to client; those of Node.js and of Python's import differ
/// from version to version.
fn is_the_functions(frame: &str) -> bool {
    let is_nodes =
        frame.starts_with("    at ") && ["node:", CLIENT].iter().any(|place| frame.contains(place));
    let is_pythons = frame.starts_with("  File ")
        && [CLIENT, "/importlib/", "<frozen importlib"].iter().any(|place| frame.contains(place));
    !is_nodes && !is_pythons
}

fn shortened(body: String) -> String {
    if body.len() <= SHOWN_MAX {
        return body;
    }
    let beginning: String = body.chars().take(10).collect();
    format!("{beginning}… ({} bytes)", body.len())
}
