//! `everstep run`: runs a definition in this process and reports what happens.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};

use anyhow::{Context as _, bail};
use clap::Args;
use everstep_asl::{Machine, Source};
use everstep_interpreter::{Identity, Limits, Payload, Program, Status, TokenKey};
use everstep_local::mock::{Choice, Mocks};
use everstep_local::{Answers, Clock, Driver, Ended, Function, Wake};
use everstep_story::{Story, text};

use crate::definition;
use crate::dialect::DialectName;
use crate::exit::Exit;
use crate::input;
use crate::output::Stream;
use crate::render::json::pretty;
use crate::reporter::Reporter;

/// Run a definition locally, with mocked responses or commands as functions
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Run {
    /// Definition, JSON or YAML; `-` for standard input
    file: String,
    /// Input: JSON, `@FILE`, or `-` for standard input
    #[arg(long, short, default_value = "{}", value_name = "JSON", allow_hyphen_values = true)]
    input: String,
    /// Mock file of AWS Step Functions Local that answers tasks
    #[arg(long, value_name = "FILE")]
    mock: Option<String>,
    /// Test case of the mock file; optional if there is only one
    #[arg(long, value_name = "NAME", requires = "mock")]
    test_case: Option<String>,
    /// State machine of the mock file; optional if there is only one
    #[arg(long, value_name = "NAME", requires = "mock")]
    machine: Option<String>,
    /// Command that answers tasks: JSON in on standard input, JSON out on standard output (can be repeated)
    #[arg(long, value_name = "NAME=COMMAND", value_parser = Function::parse)]
    function: Vec<Function>,
    /// Skip Wait states and retry delays
    #[arg(long)]
    skip_waits: bool,
    /// Start the clock at this time, such as 2026-01-31T09:00:00Z
    #[arg(long, value_name = "TIMESTAMP", requires = "skip_waits", value_parser = moment)]
    start_time: Option<i64>,
    /// Which rules apply where the specification and AWS differ
    #[arg(long, value_enum, default_value_t)]
    dialect: DialectName,
    /// Name of the execution
    #[arg(long, default_value = "run")]
    name: String,
    /// Seed of jitter, UUIDs and random numbers, for a run that can be repeated
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Print the history as GetExecutionHistory returns it, instead of the output
    #[arg(long, conflicts_with = "json")]
    history: bool,
    /// Print one JSON document: status, output, error, cause and every step
    #[arg(long)]
    json: bool,
    /// Report failures only
    #[arg(long, short)]
    quiet: bool,
}

const AFTER_HELP: &str = "\
Examples:
  everstep run order.asl.json --mock mocks.json --test-case happy
  everstep run order.asl.json --mock mocks.json --test-case slow --skip-waits
  everstep run order.asl.json --input @order.json \\
      --function 'charge=python3 charge.py'
  everstep run order.asl.json --function '*=./functions \"$EVERSTEP_FUNCTION\"'
  everstep run order.asl.json --mock mocks.json --history | jq '.events[].type'

The output goes to standard output, the progress to standard error.

The NAME of a function is that of a Lambda function, an activity or a state; `*`
matches all others. A command fails if it exits with a code other than 0. To
name the error, it prints {\"errorType\": \"...\", \"errorMessage\": \"...\"}.

Exit codes:
  0    the execution succeeded
  1    it failed or timed out
  2    it could not run: invalid arguments, definition or mock file, or no
       answer for a task
  130  aborted by Ctrl-C";

fn moment(text: &str) -> Result<i64, String> {
    everstep_expr::timestamp::parse(text)
        .map(everstep_expr::timestamp::Timestamp::to_millis)
        .map_err(|_| "expected a timestamp such as 2026-01-31T09:00:00Z".to_owned())
}

impl Run {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.input == "-" && self.file == "-" {
            bail!("the definition and the input cannot both come from standard input");
        }
        let input = Payload::new(input::read("--input", &self.input)?);
        let Ok((source, machine)) = definition::load(&self.file, self.dialect.into())? else {
            return Ok(Exit::Unusable);
        };
        let own_name = own_name(&source);
        let answers = self.answers(&machine, own_name)?;
        answers.check(&machine)?;
        let timeout_seconds = machine.timeout_seconds;
        let program = Arc::new(Program {
            machine: Arc::new(machine),
            dialect: self.dialect.into(),
            limits: Limits::default(),
        });
        let (sender, receiver) = mpsc::channel();
        listen_for_interrupt(sender.clone())?;
        let seed = self.seed.unwrap_or_else(|| RandomState::new().hash_one(std::process::id()));
        let mut driver =
            Driver::new(answers, self.clock(), Reporter::new(self.quiet), seed, (sender, receiver));
        let ended = driver.run(program, self.identity(own_name), input);
        let ended = ended.inspect_err(|_| driver.observer.clear())?;
        driver.observer.end(&ended.status, &driver.story.report(), timeout_seconds, " by Ctrl-C");
        self.write(&ended, &driver.story)?;
        Ok(match ended.status {
            Status::Succeeded { .. } => Exit::Good,
            Status::Aborted { .. } => Exit::Interrupted,
            _ => Exit::Problems,
        })
    }

    fn clock(&self) -> Clock {
        if self.skip_waits { Clock::skipping(self.start_time) } else { Clock::real() }
    }

    fn answers(&self, machine: &Machine, own_name: &str) -> anyhow::Result<Answers> {
        let mocks = match &self.mock {
            None => None,
            Some(file) => {
                let source = definition::read(file)?;
                let choice = Choice {
                    machine: self.machine.as_deref(),
                    test_case: self.test_case.as_deref(),
                    own_name,
                };
                Some(Mocks::read(&source, choice, machine)?)
            }
        };
        Ok(Answers { mocks, functions: self.function.clone() })
    }

    /// ARNs of an account that does not exist.
    fn identity(&self, machine: &str) -> Identity {
        let arn = |kind: &str, rest: &str| {
            Arc::from(format!("arn:aws:states:us-east-1:123456789012:{kind}:{rest}"))
        };
        Identity {
            execution_arn: arn("execution", &format!("{machine}:{}", self.name)),
            execution_name: Arc::from(self.name.as_str()),
            role_arn: Arc::from("arn:aws:iam::123456789012:role/everstep"),
            machine_arn: arn("stateMachine", machine),
            machine_name: Arc::from(machine),
            token_key: TokenKey::default(),
        }
    }

    fn write(&self, ended: &Ended, story: &Story) -> anyhow::Result<()> {
        if self.json {
            let document = text::document(&self.name, &ended.status, story);
            return Stream::Data.write_json(&pretty(&document));
        }
        if self.history {
            return Stream::Data
                .write_json(&pretty(&serde_json::json!({ "events": ended.history })));
        }
        match &ended.status {
            Status::Succeeded { output } if Stream::Data.is_terminal() => {
                Stream::Data.write_json(&pretty(output.value()))
            }
            Status::Succeeded { output } => {
                Stream::Data.write_json(&format!("{}\n", output.value()))
            }
            _ => Ok(()),
        }
    }
}

/// `order` for `examples/order.asl.json`
pub(super) fn own_name(source: &Source) -> &str {
    let file = Path::new(source.name()).file_name().and_then(|name| name.to_str());
    let stem = file.and_then(|name| name.split('.').next()).unwrap_or_default();
    if stem.is_empty() || stem.starts_with('<') { "machine" } else { stem }
}

/// The first Ctrl-C aborts the execution; the second ends the process at once.
fn listen_for_interrupt(sender: Sender<Wake>) -> anyhow::Result<()> {
    let asked = AtomicBool::new(false);
    ctrlc::set_handler(move || {
        if asked.swap(true, Ordering::SeqCst) || sender.send(Wake::Interrupted).is_err() {
            std::process::exit(i32::from(Exit::Interrupted as u8));
        }
    })
    .context("cannot listen for Ctrl-C")
}
