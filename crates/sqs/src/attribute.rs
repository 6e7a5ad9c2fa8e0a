//! The attributes of queues: texts on the wire.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::address::name_of_arn;
use crate::error::{Error, Name};

/// An attribute that can be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Attribute {
    VisibilityTimeout(i64),
    MessageRetentionPeriod(i64),
    DelaySeconds(i64),
    ReceiveMessageWaitTimeSeconds(i64),
    MaximumMessageSize(u64),
    /// None removes it.
    RedrivePolicy(Option<RedrivePolicy>),
    RedriveAllowPolicy(Option<RedriveAllow>),
    FifoQueue(bool),
    ContentBasedDeduplication(bool),
    /// Whether ids count within their group alone.
    DeduplicationScope(bool),
    /// Whether the limit is that of a group.
    FifoThroughputLimit(bool),
    SqsManagedSseEnabled(bool),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedrivePolicy {
    /// The name of the dead-letter queue.
    pub target: String,
    pub receives_max: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedriveAllow {
    All,
    None,
    /// Names of queues.
    Queues(Vec<String>),
}

macro_rules! names {
    ($($name:ident)+) => {
        /// Every attribute that a queue has.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum AttributeName { $($name),+ }

        impl AttributeName {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),+ }
            }
        }
    };
}

names! {
    ApproximateNumberOfMessages ApproximateNumberOfMessagesDelayed ApproximateNumberOfMessagesNotVisible
    ContentBasedDeduplication CreatedTimestamp DeduplicationScope DelaySeconds FifoQueue FifoThroughputLimit
    KmsDataKeyReusePeriodSeconds KmsMasterKeyId LastModifiedTimestamp MaximumMessageSize MessageRetentionPeriod Policy
    QueueArn ReceiveMessageWaitTimeSeconds RedriveAllowPolicy RedrivePolicy SqsManagedSseEnabled VisibilityTimeout
}

/// Those that the service itself sets.
pub const READ_ONLY: &[AttributeName] = &[
    AttributeName::ApproximateNumberOfMessages,
    AttributeName::ApproximateNumberOfMessagesDelayed,
    AttributeName::ApproximateNumberOfMessagesNotVisible,
    AttributeName::CreatedTimestamp,
    AttributeName::LastModifiedTimestamp,
    AttributeName::QueueArn,
];

impl AttributeName {
    pub fn find(name: &str) -> Result<Self, Error> {
        let found = Self::ALL.iter().copied().find(|known| known.as_str() == name);
        found.ok_or_else(|| unknown(name))
    }
}

fn unknown(name: &str) -> Error {
    let shown: String = name.chars().take(100).collect();
    Error::new(Name::InvalidAttributeName, format!("Unknown Attribute {shown}."))
}

/// Reads attributes that are to be set.
pub fn read_attributes(given: &BTreeMap<String, String>) -> Result<Vec<Attribute>, Error> {
    given.iter().map(|(name, value)| read(name, value)).collect()
}

fn read(name: &str, value: &str) -> Result<Attribute, Error> {
    use AttributeName as N;
    let number = |least, most| number(name, value, least, most);
    let flag = || flag(name, value);
    Ok(match AttributeName::find(name)? {
        N::VisibilityTimeout => Attribute::VisibilityTimeout(number(0, 43_200)?),
        N::MessageRetentionPeriod => Attribute::MessageRetentionPeriod(number(60, 1_209_600)?),
        N::DelaySeconds => Attribute::DelaySeconds(number(0, 900)?),
        N::ReceiveMessageWaitTimeSeconds => {
            Attribute::ReceiveMessageWaitTimeSeconds(number(0, 20)?)
        }
        N::MaximumMessageSize => {
            Attribute::MaximumMessageSize(number(1024, 1 << 20)?.unsigned_abs())
        }
        N::RedrivePolicy if value.is_empty() => Attribute::RedrivePolicy(None),
        N::RedrivePolicy => Attribute::RedrivePolicy(Some(redrive_policy(value)?)),
        N::RedriveAllowPolicy if value.is_empty() => Attribute::RedriveAllowPolicy(None),
        N::RedriveAllowPolicy => Attribute::RedriveAllowPolicy(Some(redrive_allow(value)?)),
        N::FifoQueue => Attribute::FifoQueue(flag()?),
        N::ContentBasedDeduplication => Attribute::ContentBasedDeduplication(flag()?),
        N::DeduplicationScope => {
            Attribute::DeduplicationScope(one_of(name, value, "messageGroup", "queue")?)
        }
        N::FifoThroughputLimit => {
            Attribute::FifoThroughputLimit(one_of(name, value, "perMessageGroupId", "perQueue")?)
        }
        N::SqsManagedSseEnabled => Attribute::SqsManagedSseEnabled(flag()?),
        N::Policy => {
            return Err(unsupported(
                name,
                "there are no access policies here: every access key may use every queue",
            ));
        }
        N::KmsMasterKeyId | N::KmsDataKeyReusePeriodSeconds => {
            return Err(unsupported(
                name,
                "messages are not encrypted with KMS here: encrypt the disk instead",
            ));
        }
        N::ApproximateNumberOfMessages
        | N::ApproximateNumberOfMessagesDelayed
        | N::ApproximateNumberOfMessagesNotVisible
        | N::CreatedTimestamp
        | N::LastModifiedTimestamp
        | N::QueueArn => return Err(unknown(name)),
    })
}

fn unsupported(name: &str, why: &str) -> Error {
    Error::new(Name::InvalidAttributeName, format!("The attribute {name} is not supported: {why}"))
}

fn invalid(name: &str) -> Error {
    let message = format!("Invalid value for the parameter {name}.");
    Error::new(Name::InvalidAttributeValue, message)
}

fn number(name: &str, value: &str, least: i64, most: i64) -> Result<i64, Error> {
    let number = value.parse().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| invalid(name))
}

fn flag(name: &str, value: &str) -> Result<bool, Error> {
    match value {
        "true" | "True" | "TRUE" => Ok(true),
        "false" | "False" | "FALSE" => Ok(false),
        _ => Err(invalid(name)),
    }
}

fn one_of(name: &str, value: &str, yes: &str, no: &str) -> Result<bool, Error> {
    match value {
        _ if value == yes => Ok(true),
        _ if value == no => Ok(false),
        _ => Err(invalid(name)),
    }
}

fn redrive_policy(text: &str) -> Result<RedrivePolicy, Error> {
    let invalid = |reason: &str| Error::invalid("RedrivePolicy", text, reason);
    let policy: Value = serde_json::from_str(text)
        .map_err(|_| invalid("Redrive policy is not a valid JSON map."))?;
    let target = policy["deadLetterTargetArn"].as_str();
    let target = target.ok_or_else(|| {
        invalid("Redrive policy does not contain mandatory attribute: deadLetterTargetArn.")
    })?;
    let target =
        name_of_arn(target).ok_or_else(|| invalid("Invalid value for deadLetterTargetArn."))?;
    let count = match &policy["maxReceiveCount"] {
        Value::Null => {
            return Err(invalid(
                "Redrive policy does not contain mandatory attribute: maxReceiveCount.",
            ));
        }
        Value::String(text) => text.parse().ok(),
        other => other.as_u64(),
    };
    let count = count.filter(|count| (1..=1000).contains(count));
    let count = count.ok_or_else(|| {
        invalid(
            "Invalid value for maxReceiveCount: 0, valid values are from 1 to 1000 both inclusive.",
        )
    })?;
    let receives_max = u32::try_from(count).unwrap_or(u32::MAX);
    Ok(RedrivePolicy { target: target.to_owned(), receives_max })
}

fn redrive_allow(text: &str) -> Result<RedriveAllow, Error> {
    let invalid = |reason: &str| Error::invalid("RedriveAllowPolicy", text, reason);
    let policy: Value = serde_json::from_str(text)
        .map_err(|_| invalid("Redrive allow policy is not a valid JSON map."))?;
    let sources = policy["sourceQueueArns"].as_array();
    match (policy["redrivePermission"].as_str(), sources) {
        (Some("allowAll"), None) => Ok(RedriveAllow::All),
        (Some("denyAll"), None) => Ok(RedriveAllow::None),
        (Some("byQueue"), Some(sources)) if (1..=10).contains(&sources.len()) => {
            let names: Option<Vec<String>> = sources
                .iter()
                .map(|source| name_of_arn(source.as_str()?).map(str::to_owned))
                .collect();
            let names = names.ok_or_else(|| invalid("Invalid value for sourceQueueArns."))?;
            Ok(RedriveAllow::Queues(names))
        }
        (Some("byQueue"), _) => Err(invalid("sourceQueueArns must have 1 to 10 ARNs of queues.")),
        _ => Err(invalid(
            "redrivePermission must be one of allowAll, denyAll and byQueue; sourceQueueArns is for byQueue.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str, expected: Result<Attribute, (Name, &str)>) {
        let found = read_attributes(&BTreeMap::from([(name.to_owned(), value.to_owned())]));
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, [expected]),
            (Err(error), Err((code, text))) => {
                assert_eq!(error.name(), code, "{name} {value}");
                assert!(error.message().contains(text), "{error}");
            }
            (found, expected) => panic!("{name} {value}: {found:?} {expected:?}"),
        }
    }

    #[test]
    fn numbers_and_flags() {
        check("VisibilityTimeout", "0", Ok(Attribute::VisibilityTimeout(0)));
        check("MaximumMessageSize", "1048576", Ok(Attribute::MaximumMessageSize(1 << 20)));
        check("DeduplicationScope", "messageGroup", Ok(Attribute::DeduplicationScope(true)));
        check("FifoQueue", "true", Ok(Attribute::FifoQueue(true)));
        let value = Name::InvalidAttributeValue;
        for (name, wrong) in [
            ("VisibilityTimeout", "43201"),
            ("DelaySeconds", "-1"),
            ("MaximumMessageSize", "1023"),
            ("MessageRetentionPeriod", "59"),
            ("ReceiveMessageWaitTimeSeconds", "x"),
            ("FifoQueue", "yes"),
            ("FifoThroughputLimit", "queue"),
        ] {
            check(name, wrong, Err((value, name)));
        }
        for name in ["Fly", "QueueArn", "All"] {
            check(name, "1", Err((Name::InvalidAttributeName, "Unknown Attribute")));
        }
        check("Policy", "{}", Err((Name::InvalidAttributeName, "no access policies")));
        check("KmsMasterKeyId", "k", Err((Name::InvalidAttributeName, "KMS")));
    }

    #[test]
    fn policies() {
        let arn = "arn:aws:sqs:us-east-1:123456789012:dead";
        let policy = |count: &str| {
            format!("{{\"deadLetterTargetArn\": \"{arn}\", \"maxReceiveCount\": {count}}}")
        };
        let expected = RedrivePolicy { target: "dead".to_owned(), receives_max: 5 };
        for count in ["5", "\"5\""] {
            check(
                "RedrivePolicy",
                &policy(count),
                Ok(Attribute::RedrivePolicy(Some(expected.clone()))),
            );
        }
        check("RedrivePolicy", "", Ok(Attribute::RedrivePolicy(None)));
        let wrong = Name::InvalidParameterValue;
        check("RedrivePolicy", "x", Err((wrong, "not a valid JSON map")));
        check("RedrivePolicy", &policy("0"), Err((wrong, "from 1 to 1000")));
        check("RedrivePolicy", "{\"maxReceiveCount\": 1}", Err((wrong, "deadLetterTargetArn")));
        let dummy = "{\"deadLetterTargetArn\": \"dummy\", \"maxReceiveCount\": 42}";
        check("RedrivePolicy", dummy, Err((wrong, "Invalid value for deadLetterTargetArn.")));
        let allow = |text: &str| text.replace('\'', "\"");
        let by_queue =
            allow(&format!("{{'redrivePermission': 'byQueue', 'sourceQueueArns': ['{arn}']}}"));
        let queues = RedriveAllow::Queues(vec!["dead".to_owned()]);
        check("RedriveAllowPolicy", &by_queue, Ok(Attribute::RedriveAllowPolicy(Some(queues))));
        let deny = allow("{'redrivePermission': 'denyAll'}");
        check(
            "RedriveAllowPolicy",
            &deny,
            Ok(Attribute::RedriveAllowPolicy(Some(RedriveAllow::None))),
        );
        check(
            "RedriveAllowPolicy",
            &allow("{'redrivePermission': 'x'}"),
            Err((wrong, "must be one of")),
        );
    }
}
