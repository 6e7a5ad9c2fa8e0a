//! A configuration, as the crates `runners` and `invocations` take it.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use everstep_config::Config;
use everstep_config::model as config;
use everstep_invocations as kept;
use everstep_runners as run;
use everstep_target::Target;

/// The default concurrency of a function.
const CONCURRENCY: u32 = 16;

/// All functions of a configuration.
#[derive(Default)]
pub(crate) struct Deployment {
    pub(crate) functions: Vec<run::Function>,
    pub(crate) settings: HashMap<String, Arc<kept::FunctionSettings>>,
    pub(crate) described: HashMap<String, Described>,
    /// Targets with the values of their variables, by how they are written: only that is stored and shown.
    pub(crate) targets: HashMap<String, Target>,
}

/// What callers of the API see of a function, besides how it is invoked. It holds no secrets.
#[derive(Debug, Clone)]
pub(crate) struct Described {
    /// `python3.11`
    pub(crate) runtime: String,
    /// Lambda has such a runtime too.
    pub(crate) is_lambda: bool,
    pub(crate) handler: Option<String>,
    pub(crate) timeout_ms: u64,
    /// None for what runs elsewhere.
    pub(crate) memory_mib: Option<u32>,
    /// As the configuration has it.
    pub(crate) concurrency: Option<u32>,
}

impl Deployment {
    /// `region` and `account` are what functions are called by; delays before retries are scaled by so many
    /// millionths.
    pub(crate) fn of(config: &Config, region: &str, account: &str, scale_millionths: u64) -> Self {
        let arn = |name: &str| format!("arn:aws:lambda:{region}:{account}:function:{name}");
        let settings = |function: &config::Function| {
            let settings = settings(function, arn(&function.name), scale_millionths);
            let settings = Arc::new(settings);
            (function.name.clone(), settings)
        };
        Self {
            functions: config.functions.iter().map(function).collect(),
            settings: config.functions.iter().map(settings).collect(),
            described: config.functions.iter().map(described).collect(),
            targets: targets(config).map(|target| (target.to_string(), resolved(target))).collect(),
        }
    }
}

/// All destinations and notification targets.
fn targets(config: &Config) -> impl Iterator<Item = &config::Target> {
    let of_machines =
        config.state_machines.iter().filter_map(|machine| machine.on_failure.as_ref());
    let of_functions = config.functions.iter().flat_map(|function| {
        let given = [&function.on_success, &function.on_failure, &function.dead_letter];
        given.into_iter().flatten().map(|given| &given.value)
    });
    of_machines.chain(of_functions)
}

fn described(function: &config::Function) -> (String, Described) {
    let described = Described {
        runtime: function.runtime.to_string(),
        is_lambda: !matches!(function.runtime, config::Runtime::Command | config::Runtime::Http),
        handler: function.handler.clone(),
        timeout_ms: function.timeout_ms.value,
        memory_mib: (function.runtime != config::Runtime::Http)
            .then(|| function.memory_mib.unwrap_or(MEMORY_MIB)),
        concurrency: function.concurrency.value,
    };
    (function.name.clone(), described)
}

fn function(function: &config::Function) -> run::Function {
    let handler = || function.handler.clone().unwrap_or_default();
    let argv = || function.command.iter().map(|part| part.as_str().to_owned()).collect::<Vec<_>>();
    let runtime = match &function.runtime {
        config::Runtime::Python { version } => {
            run::Runtime::Python { handler: handler(), program: interpreter("python", version) }
        }
        config::Runtime::Node { .. } => {
            run::Runtime::Node { handler: handler(), program: "node".to_owned() }
        }
        config::Runtime::Provided => run::Runtime::Binary {
            file: argv().first().map_or_else(|| PathBuf::from("bootstrap"), PathBuf::from),
            handler: handler(),
        },
        config::Runtime::Command => run::Runtime::Command { argv: argv() },
        config::Runtime::Http => run::Runtime::Http {
            url: function.url.as_ref().map(|url| url.as_str().to_owned()).unwrap_or_default(),
            shown: function.url.as_ref().map(|url| url.written().to_owned()).unwrap_or_default(),
            headers: Vec::new(),
        },
    };
    let env = function.env.iter().map(|(name, value)| (name.clone(), value.as_str().to_owned()));
    run::Function {
        name: function.name.clone(),
        version: VERSION.to_owned(),
        runtime,
        code: std::path::absolute(&function.code_dir).unwrap_or_else(|_| function.code_dir.clone()),
        code_state: 0,
        env: env.collect(),
        timeout_ms: function.timeout_ms.value,
        memory_mib: function.memory_mib.unwrap_or(MEMORY_MIB),
        concurrency_max: Some(function.concurrency.value.unwrap_or(CONCURRENCY)),
        instances_min: function.min_instances,
        idle_ms_max: function.idle_timeout_ms,
        invocations_max: function.max_invocations,
        bootstrap: match function.bootstrap {
            config::Bootstrap::Auto => run::Bootstrap::Auto,
            config::Bootstrap::Official => run::Bootstrap::Official,
            config::Bootstrap::Builtin => run::Bootstrap::Builtin,
        },
    }
}

const VERSION: &str = "$LATEST";
/// The default memory of a function.
const MEMORY_MIB: u32 = 1024;

/// `python3.11` if there is one, else the one that there is.
fn interpreter(name: &str, version: &str) -> String {
    let exact = format!("{name}{version}");
    if runs(&exact) { exact } else { format!("{name}3") }
}

/// Whether a program can be started. That there is a file of its name is not enough: tools that manage versions put
/// one there for each version, also for those that they cannot start.
fn runs(program: &str) -> bool {
    static KNOWN: Mutex<BTreeMap<String, bool>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    *known.entry(program.to_owned()).or_insert_with(|| {
        let version = Command::new(program).arg("--version").stdin(Stdio::null()).output();
        version.is_ok_and(|output| output.status.success())
    })
}

fn settings(
    function: &config::Function,
    arn: String,
    scale_millionths: u64,
) -> kept::FunctionSettings {
    let targets = |given: &Option<everstep_config::Given<config::Target>>| {
        given.iter().map(|given| Target::from(&*given.value.to_string())).collect::<Vec<_>>()
    };
    let mut on_failure = targets(&function.on_failure);
    on_failure.extend(targets(&function.dead_letter));
    let edge = |edge: &config::Edge| kept::Edge {
        function: edge.name.clone(),
        input: match edge.input_type {
            config::InputType::Scalar => kept::EdgeInput::Scalar,
            config::InputType::Error => kept::EdgeInput::Error,
        },
    };
    kept::FunctionSettings {
        version: VERSION.to_owned(),
        concurrency: function.concurrency.value.unwrap_or(CONCURRENCY),
        // As Lambda: what is reserved for a function is also all that it gets.
        throttles: function.concurrency.value.is_some(),
        failures_answer: function.idempotent == config::Idempotent::None,
        event_age_max_ms: function.max_event_age_ms.value,
        terms: kept::Terms {
            arn,
            policy: function.policy.value.scaled(scale_millionths),
            interrupted: match function.interrupted_attempts {
                config::InterruptedAttempts::Count => kept::Interrupted::Count,
                config::InterruptedAttempts::Repeat => {
                    kept::Interrupted::Repeat { most: function.max_interruptions }
                }
            },
            on_success: targets(&function.on_success),
            on_failure,
            next: function.next.iter().map(edge).collect(),
            retry_metadata: match function.retry_metadata {
                config::RetryMetadata::None => kept::RetryMetadata::None,
                config::RetryMetadata::Unum => kept::RetryMetadata::Unum,
            },
            dead_letters: true,
        },
    }
}

/// As `destinations` reads it, with what stands for its variables.
fn resolved(target: &config::Target) -> Target {
    target.map(|text| text.as_str().to_owned())
}
