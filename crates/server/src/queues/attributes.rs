//! The attributes of queues between the wire and the engine.

use everstep_queues::{Attributes, Fifo, RedriveAllow, RedrivePolicy, Standing, is_fifo};
use everstep_sqs::{Attribute, AttributeName, Error, Name};
use serde_json::json;

use super::{Queues, SECOND_MS};

/// Whether a queue of this name can have these attributes.
pub(super) fn check(name: &str, attributes: &[Attribute], creating: bool) -> Result<(), Error> {
    let fifo = is_fifo(name);
    for attribute in attributes {
        let of_fifo = match attribute {
            Attribute::FifoQueue(_) if fifo && !creating => {
                return Err(Error::new(
                    Name::InvalidAttributeValue,
                    "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
                ));
            }
            Attribute::FifoQueue(_) => "FifoQueue",
            Attribute::ContentBasedDeduplication(_) => "ContentBasedDeduplication",
            Attribute::DeduplicationScope(_) => "DeduplicationScope",
            Attribute::FifoThroughputLimit(_) => "FifoThroughputLimit",
            _ => continue,
        };
        if !fifo {
            return Err(Error::new(
                Name::InvalidAttributeName,
                format!("Unknown Attribute {of_fifo}."),
            ));
        }
    }
    Ok(())
}

/// The settings of a queue after attributes have been set.
pub(super) fn apply(mut to: Attributes, attributes: &[Attribute]) -> Attributes {
    for attribute in attributes.iter().cloned() {
        let mut fifo = |set: &dyn Fn(&mut Fifo)| to.fifo.iter_mut().for_each(set);
        match attribute {
            Attribute::VisibilityTimeout(seconds) => to.visibility_ms = seconds * SECOND_MS,
            Attribute::MessageRetentionPeriod(seconds) => to.retention_ms = seconds * SECOND_MS,
            Attribute::DelaySeconds(seconds) => to.delay_ms = seconds * SECOND_MS,
            Attribute::ReceiveMessageWaitTimeSeconds(seconds) => to.wait_ms = seconds * SECOND_MS,
            Attribute::MaximumMessageSize(bytes) => to.bytes_max = bytes,
            Attribute::RedrivePolicy(policy) => to.redrive = policy.map(redrive),
            Attribute::RedriveAllowPolicy(allow) => {
                to.redrive_allow = allow.map_or(RedriveAllow::Unset, redrive_allow);
            }
            Attribute::FifoQueue(_) => {}
            Attribute::ContentBasedDeduplication(on) => fifo(&|fifo| fifo.content_based = on),
            Attribute::DeduplicationScope(on) => fifo(&|fifo| fifo.by_group = on),
            Attribute::FifoThroughputLimit(on) => fifo(&|fifo| fifo.limit_by_group = on),
            Attribute::SqsManagedSseEnabled(on) => to.managed_encryption = on,
        }
    }
    to
}

fn redrive(policy: everstep_sqs::RedrivePolicy) -> RedrivePolicy {
    RedrivePolicy { target: policy.target, receives_max: policy.receives_max }
}

fn redrive_allow(allow: everstep_sqs::RedriveAllow) -> RedriveAllow {
    match allow {
        everstep_sqs::RedriveAllow::All => RedriveAllow::All,
        everstep_sqs::RedriveAllow::None => RedriveAllow::None,
        everstep_sqs::RedriveAllow::Queues(names) => RedriveAllow::Queues(names),
    }
}

impl Queues {
    /// The value of an attribute, if the queue has it.
    pub(super) fn attribute(&self, name: AttributeName, standing: &Standing) -> Option<String> {
        use AttributeName as N;
        let Standing { record, ready, delayed, in_flight, .. } = standing;
        let attributes = &record.attributes;
        let seconds = |ms: i64| (ms / SECOND_MS).to_string();
        let fifo = attributes.fifo.as_ref();
        Some(match name {
            N::ApproximateNumberOfMessages => ready.to_string(),
            N::ApproximateNumberOfMessagesDelayed => delayed.to_string(),
            N::ApproximateNumberOfMessagesNotVisible => in_flight.to_string(),
            N::CreatedTimestamp => seconds(record.created_ms),
            N::LastModifiedTimestamp => seconds(record.modified_ms),
            N::QueueArn => self.arn(&record.name),
            N::VisibilityTimeout => seconds(attributes.visibility_ms),
            N::MessageRetentionPeriod => seconds(attributes.retention_ms),
            N::DelaySeconds => seconds(attributes.delay_ms),
            N::ReceiveMessageWaitTimeSeconds => seconds(attributes.wait_ms),
            N::MaximumMessageSize => attributes.bytes_max.to_string(),
            N::SqsManagedSseEnabled => attributes.managed_encryption.to_string(),
            N::RedrivePolicy => self.redrive_policy(attributes.redrive.as_ref()?),
            N::RedriveAllowPolicy => self.redrive_allow_policy(&attributes.redrive_allow)?,
            N::FifoQueue => fifo.map(|_| "true".to_owned())?,
            N::ContentBasedDeduplication => fifo?.content_based.to_string(),
            N::DeduplicationScope => {
                if fifo?.by_group { "messageGroup" } else { "queue" }.to_owned()
            }
            N::FifoThroughputLimit => {
                if fifo?.limit_by_group { "perMessageGroupId" } else { "perQueue" }.to_owned()
            }
            N::KmsDataKeyReusePeriodSeconds | N::KmsMasterKeyId | N::Policy => return None,
        })
    }

    fn redrive_policy(&self, policy: &RedrivePolicy) -> String {
        let target = self.arn(&policy.target);
        json!({ "deadLetterTargetArn": target, "maxReceiveCount": policy.receives_max }).to_string()
    }

    fn redrive_allow_policy(&self, allow: &RedriveAllow) -> Option<String> {
        Some(match allow {
            RedriveAllow::Unset => return None,
            RedriveAllow::All => json!({ "redrivePermission": "allowAll" }).to_string(),
            RedriveAllow::None => json!({ "redrivePermission": "denyAll" }).to_string(),
            RedriveAllow::Queues(names) => {
                let arns: Vec<String> = names.iter().map(|name| self.arn(name)).collect();
                json!({ "redrivePermission": "byQueue", "sourceQueueArns": arns }).to_string()
            }
        })
    }

    /// Whether a queue may have this dead-letter queue.
    pub(super) fn check_redrive(
        &self,
        source: &str,
        attributes: &[Attribute],
    ) -> Result<(), Error> {
        let policy = attributes.iter().find_map(|attribute| match attribute {
            Attribute::RedrivePolicy(policy) => policy.as_ref(),
            _ => None,
        });
        let Some(policy) = policy else { return Ok(()) };
        let shown = self.redrive_policy(&redrive(policy.clone()));
        let invalid = |reason: &str| Err(Error::invalid("RedrivePolicy", &shown, reason));
        let Some(target) = self.engine.find(&policy.target).map_err(super::refusal)? else {
            return invalid("Dead letter target does not exist.");
        };
        if policy.target == source {
            return invalid("A queue cannot be its own dead-letter queue.");
        }
        if target.attributes.fifo.is_some() != is_fifo(source) {
            return invalid("Dead-letter queue must be same type of queue as the source.");
        }
        if !target.attributes.redrive_allow.admits(source) {
            return invalid(
                "The dead-letter queue does not admit this queue: see its RedriveAllowPolicy.",
            );
        }
        Ok(())
    }
}
