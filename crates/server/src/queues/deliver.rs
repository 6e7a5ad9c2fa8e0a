//! What this process itself sends to queues: records of invocations, notifications of failed executions.

use everstep_queues::{Content, Error, MessageId, Sending};

use super::Queues;

/// Why a record was not delivered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NotDelivered {
    /// It may be later.
    Yet(String),
    /// It is larger than the queue allows.
    TooLarge(String),
}

impl Queues {
    /// Sends a record. The message is named after the delivery; one that is repeated within a few minutes counts once.
    /// Into a FIFO queue, in the order of what each source sends.
    pub(crate) async fn deliver(
        &self,
        queue: &str,
        id: &str,
        record: &[u8],
        source: &str,
    ) -> Result<(), NotDelivered> {
        let fifo = everstep_queues::is_fifo(queue);
        let content = Content {
            body: String::from_utf8_lossy(record).into_owned(),
            group: fifo.then(|| source.to_owned()),
            deduplication_id: fifo.then(|| id.to_owned()),
            sender: source.to_owned(),
            ..Content::default()
        };
        let sending = Sending {
            id: MessageId::of_delivery(id),
            content,
            delay_ms: None,
            key: Some(id.to_owned()),
        };
        let sent = self.ask(|engine, reply| engine.send(queue, vec![sending], reply)).await;
        let sent = sent.and_then(|mut sent| sent.pop().unwrap_or(Err(Error::Stopped)));
        match sent {
            Ok(_) => Ok(()),
            Err(error @ Error::TooLarge { .. }) => Err(NotDelivered::TooLarge(error.to_string())),
            Err(error) => Err(NotDelivered::Yet(error.to_string())),
        }
    }
}
