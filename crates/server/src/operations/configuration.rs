//! How a machine or an activity is logged, traced and encrypted, as requests bring it and answers show it.
//!
//! What is as the service has it by default is stored as nothing, so that it equals what nobody gave.

use everstep_api::protocol::{Error, Name};
use serde_json::{Value, json};

use crate::args::Args;

/// Seconds that the service uses a data key for, unless the request says otherwise.
const REUSE_SECONDS: u64 = 300;

/// `loggingConfiguration`. Whether a log group exists cannot be known here: each is taken.
pub(super) fn logging(args: Args<'_>) -> Result<Option<Value>, Error> {
    let Some(given) = args.value("loggingConfiguration") else { return Ok(None) };
    let invalid = |what: &str| {
        let message = format!("Invalid Logging Configuration: {what}");
        args.error(Name::InvalidLoggingConfiguration, message)
    };
    let level = given["level"].as_str().unwrap_or("OFF");
    let data = given["includeExecutionData"].as_bool().unwrap_or(false);
    let listed = given["destinations"].as_array();
    let destinations = listed.map(Vec::as_slice).unwrap_or_default();
    if destinations.len() > 1 || (level != "OFF" && destinations.is_empty()) {
        return Err(invalid("Must specify exactly one Log Destination."));
    }
    let group = |destination: &Value| destination["cloudWatchLogsLogGroup"]["logGroupArn"].clone();
    // How the service words this one is not recorded.
    let named = |arn: &Value| arn.as_str().is_some_and(|arn| arn.contains(":log-group:"));
    if !destinations.iter().map(group).all(|arn| named(&arn)) {
        return Err(invalid("Log Destination must be the ARN of a CloudWatch log group."));
    }
    if level == "OFF" && !data && listed.is_none() {
        return Ok(None);
    }
    let mut logging = json!({ "level": level, "includeExecutionData": data });
    if listed.is_some() {
        logging["destinations"] = destinations.into();
    }
    Ok(Some(logging))
}

/// `tracingConfiguration`. The words of the refusal are a guess.
pub(super) fn tracing(args: Args<'_>) -> Result<Option<Value>, Error> {
    let Some(given) = args.value("tracingConfiguration") else { return Ok(None) };
    match given["enabled"].as_bool() {
        Some(enabled) => Ok(enabled.then(|| json!({ "enabled": true }))),
        None => {
            let message = "Invalid Tracing Configuration: 'enabled' must be true or false.";
            Err(args.error(Name::InvalidTracingConfiguration, message))
        }
    }
}

/// `encryptionConfiguration`. The words of the refusals are guesses.
pub(super) fn encryption(args: Args<'_>) -> Result<Option<Value>, Error> {
    let Some(given) = args.value("encryptionConfiguration") else { return Ok(None) };
    let invalid = |what: &str| {
        let message = format!("Invalid Encryption Configuration: {what}");
        args.error(Name::InvalidEncryptionConfiguration, message)
    };
    let seconds = given["kmsDataKeyReusePeriodSeconds"].as_u64();
    let customer = given["type"] == "CUSTOMER_MANAGED_KMS_KEY";
    match given["kmsKeyId"].as_str() {
        None if customer => Err(invalid("kmsKeyId is required for CUSTOMER_MANAGED_KMS_KEY.")),
        Some(key) if customer => Ok(Some(json!({
            "type": "CUSTOMER_MANAGED_KMS_KEY",
            "kmsKeyId": key,
            "kmsDataKeyReusePeriodSeconds": seconds.unwrap_or(REUSE_SECONDS),
        }))),
        None if seconds.is_none() => Ok(None),
        _ => Err(invalid(
            "kmsKeyId and kmsDataKeyReusePeriodSeconds are only for CUSTOMER_MANAGED_KMS_KEY.",
        )),
    }
}

pub(super) fn shown_logging(logging: Option<&Value>) -> Value {
    let off = || json!({ "level": "OFF", "includeExecutionData": false });
    logging.cloned().unwrap_or_else(off)
}

pub(super) fn shown_tracing(tracing: Option<&Value>) -> Value {
    tracing.cloned().unwrap_or_else(|| json!({ "enabled": false }))
}

pub(super) fn shown_encryption(encryption: Option<&Value>) -> Value {
    encryption.cloned().unwrap_or_else(|| json!({ "type": "AWS_OWNED_KEY" }))
}

/// An IAM role of an account with twelve digits; that is all that is asked of it.
pub(super) fn role<'r>(args: Args<'r>, arn: &'r str) -> Result<&'r str, Error> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    match parts.as_slice() {
        ["arn", _, "iam", _, account, role] if is_account(account) && role.starts_with("role/") => {
            Ok(arn)
        }
        _ => Err(args.error(Name::InvalidArn, format!("Invalid Role Arn: '{arn}'"))),
    }
}

fn is_account(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_digit())
}
