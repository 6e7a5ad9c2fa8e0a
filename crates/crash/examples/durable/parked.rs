//! A million executions that wait: what each costs in memory and on disk, how long a start takes when the
//! last engine was killed, that none is missing, and that a sample can be read and stopped.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use everstep_crash::harness;
use everstep_executions::{ExecutionId, ListId, Message, Standing};
use serde_json::{Value, json};

use crate::gauge::{bytes_in, resident_bytes};
use crate::growth::fill;
use crate::throughput::{NoTasks, Starter, open};

const DAY: u64 = 24 * 60 * 60;

fn wait(seconds: u64) -> Value {
    json!({"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": seconds, "End": true}}})
}

pub(crate) fn run(count: usize) {
    println!("{count} executions that wait\n");
    println!(
        "| for | starts/s | RAM bytes each | disk bytes each | ready after kill -9, ms | RAM bytes each, \
         after it | listed RUNNING | of 100 stopped |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (what, seconds) in [("a day", DAY), ("5 minutes", 300)] {
        let directory = crate::directory();
        let begun = Instant::now();
        let mut first = Engine::spawn(directory.path(), &format!("{count}"), seconds);
        let [empty, full] = first.figures();
        let took = begun.elapsed();
        first.kill();
        let disk = bytes_in(directory.path());
        let begun = Instant::now();
        let mut second = Engine::spawn(directory.path(), "0", seconds);
        let ready = second.ready();
        let seen_ready = begun.elapsed();
        let [_, again] = second.figures();
        let [listed, stopped_sample] = second.figures();
        second.kill();
        let each = |bytes: u64| bytes as f64 / count as f64;
        println!(
            "| {what} | {:.0} | {:.0} | {:.0} | {ready} (seen from outside: {}) | {:.0} | {listed} | {stopped_sample} |",
            1.0 / each(1) / took.as_secs_f64(),
            each(full.saturating_sub(empty)),
            each(disk),
            seen_ready.as_millis(),
            each(again.saturating_sub(empty)),
        );
    }
}

/// A process with an engine.
struct Engine {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    ready: u64,
}

impl Engine {
    fn spawn(directory: &Path, count: &str, seconds: u64) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut command = Command::new(program);
        command.arg("parked-child").arg(directory).arg(count).arg(seconds.to_string());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("starts");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut engine = Self { child, lines, ready: 0 };
        [engine.ready, _] = engine.figures();
        engine
    }

    fn ready(&self) -> u64 {
        self.ready
    }

    /// The next two numbers it says.
    fn figures(&mut self) -> [u64; 2] {
        let line = self.lines.next().expect("it says something").expect("readable");
        let mut numbers = line.split(' ').map(|number| number.parse().expect("a number"));
        [numbers.next().expect("one"), numbers.next().expect("two")]
    }

    fn kill(mut self) {
        self.child.kill().expect("our own child");
        self.child.wait().expect("our own child");
    }
}

/// The other side: says how long it took to be ready, its memory before and after, then what it finds.
pub(crate) fn child(directory: &Path, count: usize, seconds: u64) {
    let begun = Instant::now();
    let mut starter = Starter::on(open(directory), Arc::new(NoTasks), &wait(seconds));
    say(u64::try_from(begun.elapsed().as_millis()).unwrap_or(0), 0);
    let empty = resident_bytes();
    if count > 0 {
        fill(&mut starter, count);
    }
    // Executions leave memory and memory goes back to the system when the commits have been seen.
    settle();
    say(empty, resident_bytes());
    if count == 0 {
        let reader = starter.engine.reader();
        let list = ListId::of(&harness::machine_arn("m"));
        let found = everstep_crash::check::listed(&reader, list, Some(Standing::Running));
        let found = found.expect("readable");
        let step = (found.len() / 100).max(1);
        let stopped_sample = found.iter().step_by(step).filter(|arn| stops(&starter, arn)).count();
        say(found.len() as u64, stopped_sample as u64);
    }
    // Until it is killed.
    let _ = std::io::stdin().read_line(&mut String::new());
    std::thread::sleep(Duration::from_secs(DAY));
}

fn stops(starter: &Starter, arn: &str) -> bool {
    let (id, failure) = (ExecutionId::of(arn), everstep_history::Failure::new("Enough", ""));
    let stopped = starter.engine.ask(|reply| Message::Stop { id, failure, reply });
    let summary = starter.engine.reader().summary(id);
    stopped.is_ok() && summary.is_ok_and(|it| it.is_some_and(|it| it.standing == Standing::Aborted))
}

fn settle() {
    let deadline = Instant::now() + Duration::from_secs(3);
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
    }
}

fn say(one: u64, two: u64) {
    println!("{one} {two}");
    std::io::stdout().flush().expect("standard output");
}
