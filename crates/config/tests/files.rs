//! Configurations in files: good ones beside what is read from them, wrong ones beside what is said about
//! them. `UPDATE_EXPECT=1` rewrites both, and the diff is reviewed like code.

#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use everstep_config::model::{Function, Queue, StateMachine, Timer, Trigger, TriggerKind};
use everstep_config::{Config, Parameters, Parsed, read};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/config").join(name)
}

fn parse(folder: &Path, file: &str) -> Parsed {
    let mut load = |path: &Path| fs::read_to_string(folder.join(path));
    let env = |name: &str| {
        let value = if name.ends_with("_HOOK_URL") { "https://s3cret/hook" } else { "s3cret" };
        name.starts_with("EVERSTEP_").then(|| value.to_owned())
    };
    let parsed = read(Path::new(file), &mut load, &env, &Parameters::default());
    let shown = format!("{parsed:?}");
    assert!(!shown.contains("s3cret"), "{file} shows a secret: {shown}");
    parsed
}

fn files(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    names.sort();
    names
}

fn check(folder: &Path, file: &str, extension: &str, seen: &str) {
    let path = folder.join(file).with_extension(extension);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        fs::write(&path, seen).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(expected == seen, "{} is not what was seen:\n{seen}", path.display());
}

#[test]
fn good_configurations_are_read() {
    let folder = folder("valid");
    let names = files(&folder);
    assert!(names.len() >= 8, "{names:?}");
    for file in names {
        let parsed = parse(&folder, &file);
        let said = diagnostics(&parsed);
        let config = parsed.config().unwrap_or_else(|| panic!("{file} is refused:\n{said}"));
        check(&folder, &file, "resolved", &(said + &resolved(config)));
    }
}

#[test]
fn wrong_configurations_are_explained() {
    let folder = folder("invalid");
    let names = files(&folder);
    assert!(names.len() >= 15, "{names:?}");
    for file in names {
        let parsed = parse(&folder, &file);
        let said = diagnostics(&parsed);
        assert!(parsed.config().is_none(), "{file} is accepted:\n{said}");
        check(&folder, &file, "diagnostics", &said);
    }
}

fn diagnostics(parsed: &Parsed) -> String {
    let mut text = String::new();
    for found in &parsed.diagnostics {
        let source = &parsed.sources[found.file];
        assert!(source.text().get(found.span.range()).is_some(), "{found:?} cuts a character");
        let at = source.position(found.span.start);
        let (severity, rule) = (found.severity.name(), found.code);
        let (file, line, column) = (source.name(), at.line, at.column);
        let _ = writeln!(text, "{file}:{line}:{column} {severity}[{rule}] {}", found.message);
        if let Some(hint) = &found.hint {
            let _ = writeln!(text, "    hint: {hint}");
        }
    }
    text
}

fn resolved(config: &Config) -> String {
    let mut text = String::new();
    for function in &config.functions {
        write_function(&mut text, function);
    }
    for machine in &config.state_machines {
        let StateMachine { name, line, definition, workflow_type, dialect, on_failure } = machine;
        let _ = writeln!(text, "state machine {name} ({line}): {workflow_type:?}, {dialect:?}");
        if let Some(target) = on_failure {
            let _ = writeln!(text, "    on failure: {target:?}");
        }
        let _ = writeln!(text, "    {}", definition.text.split_whitespace().collect::<String>());
    }
    for trigger in &config.triggers {
        write_trigger(&mut text, trigger);
    }
    for queue in &config.all_queues() {
        write_queue(&mut text, queue);
    }
    for destination in &config.destinations {
        let _ = writeln!(text, "destination {}: {:?}", destination.name, destination.target);
    }
    text
}

fn write_trigger(text: &mut String, trigger: &Trigger) {
    let Trigger { name, line, kind, target, execution_name, policy, .. } = trigger;
    let _ = writeln!(text, "trigger {name} ({line}): {} → {target}", kind.name());
    match kind {
        TriggerKind::Timer(Timer { schedule, missed, overlap, run_on_startup, input }) => {
            let zone = schedule.zone().map_or("no zone", |zone| zone.name());
            let _ = writeln!(
                text,
                "    {schedule} ({zone}), {missed:?}, {overlap:?}, {run_on_startup}, {input:?}"
            );
        }
        TriggerKind::Http(http) => {
            let _ = writeln!(text, "    {http:?}");
        }
        TriggerKind::File(folder) => {
            let _ = writeln!(text, "    {folder:?}");
        }
    }
    if let Some(execution_name) = execution_name {
        let _ = writeln!(text, "    {execution_name:?}");
    }
    if let Some(policy) = policy {
        let _ = writeln!(text, "    retry ({}): {:?}", policy.origin, policy.value);
    }
    let age = trigger.max_event_age_ms.as_ref().map(|age| age.value);
    let _ = writeln!(text, "    {age:?}, {}, {}", trigger.max_backlog, trigger.enabled);
}

fn write_queue(text: &mut String, queue: &Queue) {
    let _ = writeln!(text, "queue {} ({})", queue.name, queue.line);
    for (what, set) in [
        ("visibility", queue.visibility_timeout_ms),
        ("retention", queue.retention_ms),
        ("delay", queue.delay_ms),
        ("wait", queue.receive_wait_ms),
        ("bytes", queue.max_message_bytes),
    ] {
        if let Some(set) = set {
            let _ = writeln!(text, "    {what}: {set}");
        }
    }
    if let Some(poison) = &queue.poison {
        let _ = writeln!(text, "    poison: {} after {}", poison.name, poison.max_deliveries);
    }
    if queue.is_fifo() {
        let (content, group) = (queue.content_based_deduplication, queue.deduplicates_by_group);
        let _ = writeln!(text, "    fifo: content {content}, group {group}");
    }
}

fn write_function(text: &mut String, function: &Function) {
    let Function { name, line, runtime, handler, code_dir, command, url, env, .. } = function;
    let _ = writeln!(text, "function {name} ({line}): {runtime:?}");
    let _ =
        writeln!(text, "    code: {handler:?} {} {command:?} {url:?} {env:?}", code_dir.display());
    let _ = writeln!(
        text,
        "    limits: {} ms ({}), {:?} ({}), {:?} MiB, {}, {}, {:?}, {:?}",
        function.timeout_ms.value,
        function.timeout_ms.origin,
        function.concurrency.value,
        function.concurrency.origin,
        function.memory_mib,
        function.min_instances,
        function.idle_timeout_ms,
        function.max_invocations,
        function.bootstrap,
    );
    let _ = writeln!(text, "    retry ({}):", function.policy.origin);
    for rule in &function.policy.value.rules {
        let _ = writeln!(text, "        {:?} {:?} {:?}", rule.errors, rule.retries_max, rule.delay);
    }
    let _ = writeln!(text, "        never {:?}", function.policy.value.non_retryable);
    let age = &function.max_event_age_ms;
    let _ = writeln!(text, "    age: {:?} ({})", age.value, age.origin);
    for (what, target) in [
        ("on success", &function.on_success),
        ("on failure", &function.on_failure),
        ("dead letter", &function.dead_letter),
    ] {
        if let Some(target) = target {
            let _ = writeln!(text, "    {what}: {:?} ({})", target.value, target.origin);
        }
    }
    let _ = writeln!(
        text,
        "    {:?} {:?} {:?} {:?} {} {:?}",
        function.next,
        function.retry_metadata,
        function.idempotent,
        function.interrupted_attempts,
        function.max_interruptions,
        function.compensate
    );
}
