//! What the engine refuses, in the words of the service.

use everstep_queues::Error as Engine;
use everstep_shards::Error as Shards;
use everstep_sqs::{Error, Name};

pub(super) fn refusal(error: Engine) -> Error {
    let invalid = |message: &str| Error::new(Name::InvalidParameterValue, message);
    match error {
        Engine::NoSuchQueue(_) => Error::no_such_queue(),
        Engine::Exists(attribute) => Error::new(
            Name::QueueNameExists,
            format!(
                "A queue already exists with the same name and a different value for attribute {attribute}"
            ),
        ),
        Engine::InvalidName(_) => invalid(
            "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length",
        ),
        Engine::TooLarge { most } => invalid(&format!(
            "One or more parameters are invalid. Reason: Message must be shorter than {most} bytes."
        )),
        Engine::NoGroup => Error::missing("MessageGroupId"),
        Engine::NoDeduplicationId => invalid(
            "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided \
             explicitly",
        ),
        Engine::NotFifo => invalid(
            "The request include parameter MessageDeduplicationId, which is not valid for this queue type",
        ),
        Engine::DelayInFifo => invalid(
            "The parameter DelaySeconds is invalid. Reason: The request include parameter that is not valid for this \
             queue type.",
        ),
        Engine::WrongQueue => Error::new(
            Name::ReceiptHandleIsInvalid,
            "The input receipt handle is not valid for this queue.",
        ),
        Engine::ReceiptExpired => invalid(
            "The parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
        ),
        Engine::NotInFlight => invalid(
            "The parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available for visibility \
             timeout change.",
        ),
        Engine::HiddenTooLong => invalid(
            "The parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout for the message is beyond the \
             limit [43200 seconds]",
        ),
        Engine::OverLimit | Engine::TooManyQueues => Error::new(Name::OverLimit, error.to_string()),
        Engine::TaskRuns => invalid(
            "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
        ),
        Engine::NoSuchTask => Error::new(Name::ResourceNotFound, "Task does not exist."),
        Engine::Busy => Error::new(Name::RequestThrottled, "Rate exceeded"),
        Engine::Stopped | Engine::Failed(Shards::Panicked { .. }) => {
            Error::new(Name::ServiceUnavailable, error.to_string())
        }
        Engine::Failed(_) => Error::new(Name::InternalFailure, error.to_string()),
    }
}
