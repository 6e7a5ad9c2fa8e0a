//! The official JSONata suite: results and error codes, less what Step Functions refuses.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::Context;
use everstep_expr::EvalError;
use everstep_expr::jsonata::Expression;
use everstep_expr::jsonata::suite::{self, Bounds, Failure};
use serde_json::{Map, Value};

/// The stack that a thread of a server has.
const STACK_BYTES: usize = 2 * 1024 * 1024;

/// A case that takes longer than this hangs: every bound of the engine is shorter.
const HANG: Duration = Duration::from_secs(60);

/// Pass rate below which the run fails, in percent.
const PASSED_PERCENT_MIN: usize = 99;

/// `group/case: reason` for every case that is known to differ.
const DEVIATIONS: &str = include_str!("jsonata-deviations.txt");

pub(crate) fn run(directory: &Path) -> anyhow::Result<ExitCode> {
    let mut tally = Tally::new();
    for case in load(directory)? {
        let name = case.name.clone();
        match refused(&case) {
            Some(reason) => tally.skip(&name, reason),
            None => tally.count(&name, case.run()),
        }
    }
    Ok(tally.report())
}

/// One case, with its data at hand.
struct Case {
    name: String,
    expr: String,
    input: Option<Value>,
    bindings: Map<String, Value>,
    bounds: Bounds,
    unordered: bool,
    expected: Expected,
}

#[derive(Debug, PartialEq)]
enum Expected {
    Value(Value),
    Undefined,
    Code(String),
    /// A lone surrogate, which JSON text can hold and a Rust string cannot.
    Unreadable(String),
}

fn load(directory: &Path) -> anyhow::Result<Vec<Case>> {
    let datasets = files(&directory.join("datasets"))?
        .into_iter()
        .map(|path| Ok((stem(&path), serde_json::from_str(&read(&path)?)?)))
        .collect::<anyhow::Result<HashMap<String, Value>>>()?;
    let mut cases = Vec::new();
    for group in files(&directory.join("groups"))? {
        for path in files(&group)? {
            if path.extension().is_some_and(|extension| extension == "json") {
                load_file(&path, &datasets, &mut cases)
                    .with_context(|| path.display().to_string())?;
            }
        }
    }
    Ok(cases)
}

fn load_file(
    path: &Path,
    datasets: &HashMap<String, Value>,
    into: &mut Vec<Case>,
) -> anyhow::Result<()> {
    let name = format!("{}/{}", stem(path.parent().context("a group")?), stem(path));
    match serde_json::from_str(&read(path)?) {
        Ok(Value::Array(cases)) => {
            for (index, case) in cases.iter().enumerate() {
                into.push(load_case(format!("{name}[{index}]"), case, path, datasets)?);
            }
        }
        Ok(case) => into.push(load_case(name, &case, path, datasets)?),
        Err(error) => into.push(Case::unreadable(name, &error)),
    }
    Ok(())
}

fn load_case(
    name: String,
    case: &Value,
    path: &Path,
    datasets: &HashMap<String, Value>,
) -> anyhow::Result<Case> {
    let expr = match case["expr-file"].as_str() {
        Some(file) => read(&path.with_file_name(file))?,
        None => case["expr"].as_str().context("an expression")?.to_owned(),
    };
    let input = match case["dataset"].as_str() {
        Some(dataset) => Some(datasets.get(dataset).context("a dataset")?.clone()),
        None => case.get("data").cloned(),
    };
    Ok(Case {
        name,
        expr,
        input,
        bindings: case["bindings"].as_object().cloned().unwrap_or_default(),
        bounds: Bounds {
            time_ms: case["timelimit"].as_u64(),
            depth: case["depth"].as_u64().and_then(|depth| depth.try_into().ok()),
        },
        unordered: case["unordered"] == true,
        expected: expected(case)?,
    })
}

fn expected(case: &Value) -> anyhow::Result<Expected> {
    let code = case["code"].as_str().or(case["error"]["code"].as_str());
    if let Some(code) = code {
        Ok(Expected::Code(code.to_owned()))
    } else if case["undefinedResult"] == true {
        Ok(Expected::Undefined)
    } else {
        let result = case.get("result").context("an expectation")?;
        Ok(Expected::Value(result.clone()))
    }
}

fn files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory).with_context(|| directory.display().to_string())?;
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| path.display().to_string())
}

fn stem(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Why Step Functions would not even create a machine with this expression.
fn refused(case: &Case) -> Option<&'static str> {
    let error = Expression::parse(&case.expr).err()?;
    ["$eval", "??", "?:"]
        .into_iter()
        .find(|word| error.message.ends_with(&format!(" {word} is not supported")))
}

impl Case {
    fn unreadable(name: String, error: &serde_json::Error) -> Self {
        Self {
            name,
            expr: String::new(),
            input: None,
            bindings: Map::new(),
            bounds: Bounds::default(),
            unordered: false,
            expected: Expected::Unreadable(error.to_string()),
        }
    }

    /// What went wrong, if anything did; in a thread of its own, so that nothing a case
    /// does can end or stop the run.
    fn run(self) -> Result<(), String> {
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new().stack_size(STACK_BYTES);
        let started = thread.spawn(move || sender.send(self.compare()));
        started.map_err(|error| error.to_string())?;
        match receiver.recv_timeout(HANG) {
            Ok(outcome) => outcome,
            Err(mpsc::RecvTimeoutError::Timeout) => Err("hangs".to_owned()),
            Err(mpsc::RecvTimeoutError::Disconnected) => Err("panics".to_owned()),
        }
    }

    fn compare(&self) -> Result<(), String> {
        if let Expected::Unreadable(error) = &self.expected {
            return Err(format!("the case is not readable: {error}"));
        }
        let found = suite::evaluate(&self.expr, self.input.as_ref(), &self.bindings, self.bounds);
        let agrees = match (&found, &self.expected) {
            (Ok(Some(value)), Expected::Value(expected)) => self.equal(value, expected),
            (Ok(None), Expected::Undefined) => true,
            (Err(failure), Expected::Code(code)) => code_of(failure).as_deref() == Some(code),
            _ => false,
        };
        if agrees {
            return Ok(());
        }
        let found = match found {
            Ok(Some(value)) => value.to_string(),
            Ok(None) => "undefined".to_owned(),
            Err(failure) => failure.to_string(),
        };
        Err(format!("{} gives {found}, not {:?}", self.expr, self.expected))
    }

    fn equal(&self, found: &Value, expected: &Value) -> bool {
        match (found, expected) {
            (Value::Array(found), Value::Array(expected)) if self.unordered => {
                let mut left = expected.clone();
                found.len() == expected.len()
                    && found.iter().all(|item| {
                        let at = left.iter().position(|other| same(item, other));
                        at.map(|at| left.swap_remove(at)).is_some()
                    })
            }
            _ => same(found, expected),
        }
    }
}

/// As JSONata has it, `1` and `1.0` are one number.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            let equal = |(name, a): (&String, &Value)| b.get(name).is_some_and(|b| same(a, b));
            a.len() == b.len() && a.iter().all(equal)
        }
        _ => a == b,
    }
}

/// The suite's own runner throws `U1001` where time or depth runs out.
fn code_of(failure: &Failure) -> Option<String> {
    match failure {
        Failure::Syntax(message) => message.get(..5).map(str::to_owned),
        Failure::Evaluation(EvalError::Jsonata { code, .. }) => code.clone(),
        Failure::Evaluation(EvalError::Limit { message }) if message.contains("memory") => {
            Some("D2014".to_owned())
        }
        Failure::Evaluation(_) => Some("U1001".to_owned()),
    }
}

struct Tally {
    deviations: BTreeMap<&'static str, &'static str>,
    passed: usize,
    /// Failures, and whether each is a known deviation.
    failed: Vec<bool>,
    skipped: BTreeMap<&'static str, usize>,
}

impl Tally {
    fn new() -> Self {
        let lines = DEVIATIONS.lines().filter(|line| !line.starts_with('#'));
        Self {
            deviations: lines.filter_map(|line| line.split_once(": ")).collect(),
            passed: 0,
            failed: Vec::new(),
            skipped: BTreeMap::new(),
        }
    }

    fn skip(&mut self, _name: &str, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    fn count(&mut self, name: &str, outcome: Result<(), String>) {
        match (outcome, self.deviations.remove(name)) {
            (Ok(()), None) => self.passed += 1,
            (Ok(()), Some(_)) => {
                self.passed += 1;
                println!("passes  {name}: strike it from the list of deviations");
            }
            (Err(_), Some(reason)) => {
                self.failed.push(true);
                println!("differs {name}: {reason}");
            }
            (Err(what), None) => {
                self.failed.push(false);
                println!("FAILED  {name}: {what}");
            }
        }
    }

    fn report(&self) -> ExitCode {
        for name in self.deviations.keys() {
            println!("unknown {name}: the list of deviations names a case that did not run");
        }
        for (reason, count) in &self.skipped {
            println!("skipped {count} cases: Step Functions refuses {reason}");
        }
        let (passed, failed) = (self.passed, self.failed.len());
        let skipped: usize = self.skipped.values().sum();
        println!("{passed} passed, {failed} failed, {skipped} skipped");
        let enough = passed * 100 >= (passed + failed) * PASSED_PERCENT_MIN;
        if enough && passed > 0 && self.failed.iter().all(|known| *known) {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
