//! Finds the ARN that the API requires for a name.

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

use super::Api;
use crate::output::choices;
use everstep_source::nearest;

/// No limit in practice.
pub(crate) const ALL: usize = 100_000;

fn is_arn(text: &str) -> bool {
    text.starts_with("arn:")
}

/// The last part of an ARN.
pub(crate) fn last(arn: &str) -> &str {
    arn.rsplit(':').next().unwrap_or_default()
}

/// Every state machine, as `ListStateMachines` has them.
pub(crate) fn machines(api: &Api) -> Result<Vec<Value>> {
    api.list("ListStateMachines", "stateMachines", json!({}), ALL)
}

/// The ARN of a machine by its name; `name:alias`, `name:version` and `name#TestCase` work too.
pub(crate) fn machine(api: &Api, name: &str) -> Result<String> {
    if is_arn(name) {
        return Ok(name.to_owned());
    }
    let (own, qualifier) = name.split_at(name.find([':', '#']).unwrap_or(name.len()));
    let machines = machines(api)?;
    let names = || machines.iter().filter_map(|machine| machine["name"].as_str());
    let found = machines.iter().find(|machine| machine["name"] == own);
    let arn = found.and_then(|machine| machine["stateMachineArn"].as_str());
    let arn = arn.ok_or_else(|| unknown("state machine", "machines", own, names()))?;
    Ok(format!("{arn}{qualifier}"))
}

/// The ARN of an activity by its name.
pub(crate) fn activity(api: &Api, name: &str) -> Result<String> {
    if is_arn(name) {
        return Ok(name.to_owned());
    }
    let activities = api.list("ListActivities", "activities", json!({}), ALL)?;
    let names = || activities.iter().filter_map(|activity| activity["name"].as_str());
    let found = activities.iter().find(|activity| activity["name"] == name);
    let arn = found.and_then(|activity| activity["activityArn"].as_str());
    arn.map(str::to_owned).ok_or_else(|| unknown("activity", "activities", name, names()))
}

/// The error for an unknown function.
pub(crate) fn no_function(api: &Api, name: &str) -> Result<anyhow::Error> {
    let functions = api.operate("ListFunctions", &json!({}))?;
    let names = functions["functions"].as_array().into_iter().flatten();
    let names: Vec<&str> = names.filter_map(|function| function["name"].as_str()).collect();
    Ok(match nearest(name, names.iter().copied()) {
        Some(near) => anyhow!("unknown function `{name}`; did you mean `{near}`?"),
        None if names.is_empty() => anyhow!(
            "unknown function `{name}`: the server has no functions\nhint: to serve those of an everstep.yaml, run \
             `everstep serve --functions PATH`"
        ),
        None => {
            let there = choices(names.iter().copied());
            anyhow!("unknown function `{name}`; the server has {there}")
        }
    })
}

fn unknown<'n>(
    what: &str,
    command: &str,
    name: &str,
    names: impl Iterator<Item = &'n str>,
) -> anyhow::Error {
    match nearest(name, names) {
        Some(near) => anyhow!("unknown {what} `{name}`; did you mean `{near}`?"),
        None => {
            anyhow!("unknown {what} `{name}`\nhint: to list all, run `everstep {command} list`")
        }
    }
}

/// The ARN of an execution by its name, of this machine or of any.
pub(crate) fn execution(api: &Api, name: &str, machine_name: Option<&str>) -> Result<String> {
    if is_arn(name) {
        return Ok(name.to_owned());
    }
    if let Some(machine_name) = machine_name {
        return Ok(execution_arn(&machine(api, machine_name)?, name));
    }
    let mut found = Vec::new();
    for machine in machines(api)?.iter().filter(|machine| machine["type"] == "STANDARD") {
        let arn = execution_arn(machine["stateMachineArn"].as_str().unwrap_or_default(), name);
        if exists(api, &arn)? {
            found.push((machine["name"].as_str().unwrap_or_default().to_owned(), arn));
        }
    }
    match found.as_slice() {
        [(_, arn)] => Ok(arn.clone()),
        [] => bail!(
            "unknown execution `{name}`\nhint: to list executions, run `everstep executions list`"
        ),
        several => {
            let machines = choices(several.iter().map(|(machine, _)| &**machine));
            bail!("{machines} have an execution `{name}`; specify one with --machine NAME")
        }
    }
}

fn exists(api: &Api, arn: &str) -> Result<bool> {
    let input = json!({ "executionArn": arn, "includedData": "METADATA_ONLY" });
    match api.try_call("DescribeExecution", &input)? {
        Ok(_) => Ok(true),
        // No execution has an invalid name.
        Err(refused) if refused.code == "ExecutionDoesNotExist" => Ok(false),
        Err(refused) => bail!(refused.to_string()),
    }
}

/// An execution is named below its machine, whatever alias or version it was started by.
fn execution_arn(machine: &str, name: &str) -> String {
    let parts: Vec<&str> = machine.splitn(8, ':').take(7).collect();
    format!("{}:{name}", parts.join(":").replacen(":stateMachine:", ":execution:", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn executions_of_machines() {
        let check = |machine: &str, expected: &str| {
            assert_eq!(execution_arn(&format!("arn:aws:states:r:1:{machine}"), "e"), expected);
        };
        check("stateMachine:m", "arn:aws:states:r:1:execution:m:e");
        check("stateMachine:m:prod", "arn:aws:states:r:1:execution:m:e");
        check("stateMachine:m:3", "arn:aws:states:r:1:execution:m:e");
    }
}
