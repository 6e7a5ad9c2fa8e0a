//! Requests of the SQS API: same address, same access rules, another service name in signatures.

use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::request::Parts;
use everstep_api::protocol::{Answer, Common, Error, read};
use everstep_sqs::{Operation, TARGET, refuse_query};

use super::body::Received;
use super::handler::{Gateway, text};
use crate::queues::Caller;

/// The name of the operation, if a request is one of SQS.
pub(super) fn operation(head: &Parts) -> Option<&str> {
    text(&head.headers, "x-amz-target")?.strip_prefix(TARGET)
}

/// The refusal of a request in the protocol of older clients, if it is one.
pub(super) fn refusal(head: &Parts, body: &[u8], request_id: &str) -> Option<Answer> {
    refuse_query(text(&head.headers, "content-type"), body, request_id).map(written)
}

impl Gateway {
    pub(super) async fn answer_sqs(
        &self,
        operation: &str,
        head: &Parts,
        body: Received<'_>,
        request_id: &str,
    ) -> Result<Answer, Error> {
        self.authenticate(head, body.bytes(), "sqs")?;
        let unknown = |what: String| Error::common(Common::UnknownOperation, what);
        let Some(queues) = &self.service.queues else {
            return Err(unknown("this server has no queues".to_owned()));
        };
        let name: String = operation.chars().take(100).collect();
        let operation = Operation::find(operation)
            .ok_or_else(|| unknown(format!("SQS has no operation '{name}'")))?;
        let asked = read(body.bytes())?;
        drop(body);
        let answered = queues.call(operation, asked, &self.caller(head)).await;
        Ok(written(match answered {
            Ok(output) => everstep_sqs::Answer::success(&output, request_id),
            Err(error) => everstep_sqs::Answer::error(&error, request_id),
        }))
    }

    /// URLs of queues begin as the caller has reached this server.
    fn caller(&self, head: &Parts) -> Caller {
        let host = text(&head.headers, HOST.as_str()).unwrap_or("localhost");
        let scheme = if self.encrypted { "https" } else { "http" };
        let key = text(&head.headers, AUTHORIZATION.as_str()).and_then(access_key);
        let sender = key.unwrap_or(&self.service.environment.account).to_owned();
        Caller { origin: format!("{scheme}://{host}"), sender }
    }
}

/// The access key in `AWS4-HMAC-SHA256 Credential=AKID/20260101/…`.
fn access_key(authorization: &str) -> Option<&str> {
    let (_, rest) = authorization.split_once("Credential=")?;
    rest.split('/').next().filter(|key| !key.is_empty())
}

fn written(answer: everstep_sqs::Answer) -> Answer {
    let everstep_sqs::Answer { status, headers, body } = answer;
    Answer { status, headers, body }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn access_keys() {
        let check = |text: &str, expected| assert_eq!(access_key(text), expected, "{text}");
        check("AWS4-HMAC-SHA256 Credential=AKID/2026/us-east-1/sqs/aws4_request, S", Some("AKID"));
        check("AWS4-HMAC-SHA256 Credential=/x", None);
        check("Bearer x", None);
    }
}
