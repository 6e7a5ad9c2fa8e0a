//! What tasks did, as they themselves wrote it down: one line for each thing, in the order in which it
//! happened, in a file that no engine knows of.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use everstep_executions::Task;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Line {
    pub execution: String,
    pub state: String,
    pub token: String,
    pub request: String,
    pub again: bool,
    pub pid: u32,
    pub act: Act,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Act {
    Started,
    /// About to report to the engine.
    Answered(Outcome),
    /// The engine has said that the answer counts.
    Acknowledged,
    /// The engine has said that it does not.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    Succeeded,
    Failed,
    /// Reported from outside.
    HandedOn,
}

/// Opened to append: the system puts each line at the end in one piece, for every writer.
pub struct Witness {
    file: File,
}

impl Witness {
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::options().append(true).create(true).open(path)? })
    }

    pub fn note(&self, task: &Task, act: Act) {
        let line = Line {
            execution: task.execution_arn.to_string(),
            state: task.state.to_string(),
            token: task.attempt_name(),
            request: task.request_id(),
            again: task.again,
            pid: std::process::id(),
            act,
        };
        let mut text = serde_json::to_vec(&line).expect("a line is plain data");
        text.push(b'\n');
        let written = (&self.file).write(&text).expect("the witness can write");
        assert_eq!(written, text.len(), "a line is written in one piece");
    }
}

/// All lines. A process may have been killed inside its last write, so a line may be cut off.
///
/// # Errors
///
/// If the file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<Line>> {
    let text = std::fs::read_to_string(path)?;
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}
